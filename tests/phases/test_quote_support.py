"""Findings that are set against whole sources."""

from deep_research.evidence.citations import locate
from deep_research.phases.analysis import recorded_findings
from deep_research.phases.analysis.recorded_findings import WholeTexts, founded
from deep_research.state import Source

TEXT = "The tower of Mole is 90 feet tall.\n\nThe bridge of Mole opened in 1874.\n\nThe lake of Mole is very deep."


def test_a_source_is_prepared_once_for_all_findings_that_are_set_against_it(monkeypatch):
    made = []
    prepare = recorded_findings.SourceText

    def counting(text, *, title=""):
        made.append(text)
        return prepare(text, title=title)

    monkeypatch.setattr(recorded_findings, "SourceText", counting)
    sources = {"a": Source(id="a", title="Mole", sub_query_id="q", content_hash="a", length=len(TEXT))}
    quote = locate("The lake of Mole is very deep.", TEXT, source_id="a", content_hash="a")
    wholes = WholeTexts(sources, {"a": TEXT})
    said = ["The tower of Mole is 90 feet tall.", "The bridge of Mole opened in 1874."]
    for content in said:
        stands = founded(content, (quote,), sources, {"a": TEXT}, wholes=wholes)
        assert [held.quote for held in stands[1]] == [quote.quote, content]
    assert made.count(TEXT) == 1
