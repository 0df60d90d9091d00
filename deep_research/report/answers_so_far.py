"""The answer so far to each question of a run: to the parts of its question, and to its sub-queries. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from deep_research.state import (
    ClaimVerdict,
    ConfidenceLevel,
    DeepResearchState,
    Finding,
    Limit,
    QuestionPart,
    SubQuery,
    SubQueryStatus,
)
from deep_research.state.answers import AnswerSentence, AnswerState, QuestionAnswer
from deep_research.state.identity import normalised

MAX_SENTENCES = 3  # of an answer
MAX_SENTENCE_CHARS = 500
MAX_REASON_CHARS = 300
MIN_RELEVANCE_SHARE = 0.3  # least relevance, as a share of that of the first finding
MAX_COMPARED = 12  # best supported findings that are looked at for the kind of answer
MAX_READ_CHARS = 2_000  # of a finding
_BY_CONFIDENCE = {level: place for place, level in enumerate(reversed(ConfidenceLevel))}
# Default reasons for a question not yet searched or read.
_WAITING = {AnswerState.OPEN: "Not searched yet.", AnswerState.SEARCHED: "Its sources are still to be read."}


def answers_so_far(state: DeepResearchState) -> tuple[QuestionAnswer, ...]:
    """The parts of the question in its order, then the sub-queries of the plan that ask something else, in theirs. If
    there are neither parts nor sub-queries, one open answer for the whole question.

    Example:
        for answer in answers_so_far(state):
            print(answer.state, answer.question, answer.text or answer.reason)
    """
    return tuple(_Answers(state).all())


class _Answers:
    """What the answers of one state are made from."""

    def __init__(self, state: DeepResearchState) -> None:
        self.state = state
        self.plan = state.current_sub_queries()
        self.verdicts = {verdict.part_id: verdict for verdict in state.verdicts}
        self.by_id = {finding.id: finding for finding in state.findings}
        self.of_part: dict[str | None, list[Finding]] = {}
        self.of_sub_query: dict[str | None, list[Finding]] = {}
        self.of_source: dict[str, list[Finding]] = {}
        for finding in sorted(state.findings, key=_support):
            self.of_part.setdefault(finding.part_id, []).append(finding)
            self.of_sub_query.setdefault(finding.sub_query_id, []).append(finding)
            for source_id in finding.source_ids:
                self.of_source.setdefault(source_id, []).append(finding)

    def all(self) -> Iterator[QuestionAnswer]:
        if not self.state.parts and not self.plan:
            why = self._reason(AnswerState.OPEN, ())
            yield QuestionAnswer(question=self.state.query, state=AnswerState.OPEN, reason=why)
        wordings = {normalised(sub_query.query): sub_query for sub_query in reversed(self.plan)}
        asked = set()
        for part in self.state.parts:
            same_wording = wordings.get(normalised(part.text))
            asked.add(same_wording.id if same_wording else None)
            yield self._part(part, same_wording)
        yield from (self._sub_query(each) for each in self.plan if each.id not in asked)

    def _part(self, part: QuestionPart, same_wording: SubQuery | None) -> QuestionAnswer:
        """The answer to a part of the question; ``same_wording`` is the sub-query that asks it in its words."""
        is_only = len(self.state.parts) == 1
        sub_queries = [s for s in self.plan if s.part_id in (part.id, None) or s is same_wording]
        verdict = self.verdicts.get(part.id)
        if verdict is not None:
            judged = part.id in self.state.part_judgements
            borne_out = self._borne_out(verdict.claim_ids or ()) if judged else frozenset()
            named = [self.by_id[name] for name in verdict.finding_ids if name in self.by_id]
            findings = sorted(named, key=lambda each: each.id not in borne_out)
        else:
            findings = sorted(
                [*self.of_part.get(part.id, ()), *(self.of_part.get(None, ()) if is_only else ())],
                key=_support,
            )
        sentences = self._sentences(part.text, findings, part)
        answer_state = (
            AnswerState(verdict.verdict.value) if verdict else self._answer_state(sub_queries, findings)
        )
        reason = "" if answer_state is AnswerState.ANSWERED else self._reason(answer_state, sub_queries)
        return QuestionAnswer(
            question=part.text,
            state=answer_state,
            sentences=() if answer_state is AnswerState.NOT_FOUND else sentences,
            reason=reason,
            part_id=part.id,
            sub_query_id=same_wording.id if same_wording else None,
        )

    def _borne_out(self, claim_ids: Collection[str]) -> frozenset[str]:
        """The findings of those claims of a report that sources support."""
        claims = (each for each in self.state.claims if each.id in claim_ids)
        holding = (each for each in claims if each.verdict is ClaimVerdict.SUPPORTED and not each.is_marked)
        return frozenset(name for claim in holding for name in claim.finding_ids)

    def _sub_query(self, sub_query: SubQuery) -> QuestionAnswer:
        findings = self.of_sub_query.get(sub_query.id, [])
        if not findings:  # Agents without a model do not name the sub-query of a finding.
            beside = (f for source_id in sub_query.source_ids for f in self.of_source.get(source_id, ()))
            of_other = (
                {None, sub_query.part_id} if sub_query.part_id else {f.part_id for f in self.by_id.values()}
            )
            distinct = {f.id: f for f in beside if f.sub_query_id is None and f.part_id in of_other}
            findings = sorted(distinct.values(), key=_support)
        sentences = self._sentences(sub_query.query, findings) or self._facts(sub_query)
        answer_state = self._answer_state([sub_query], findings or sentences)
        return QuestionAnswer(
            question=sub_query.query,
            state=answer_state,
            sentences=sentences,
            reason=self._reason(answer_state, [sub_query]),
            part_id=sub_query.part_id,
            sub_query_id=sub_query.id,
        )

    def _answer_state(self, sub_queries: Sequence[SubQuery], found: Sequence[object]) -> AnswerState:
        """How far the sub-queries of one question are."""
        if found:
            return AnswerState.FOUND
        done = [each for each in sub_queries if each.status is SubQueryStatus.COMPLETED]
        if any(set(each.source_ids) - self.state.analyzed for each in done):
            return AnswerState.SEARCHED
        if not sub_queries or any(each.status is SubQueryStatus.PENDING for each in sub_queries):
            return AnswerState.OPEN
        return AnswerState.NOT_FOUND if done else AnswerState.FAILED

    def _reason(self, answer_state: AnswerState, sub_queries: Sequence[SubQuery]) -> str:
        """Return why the answer is incomplete, in one line; empty if nothing is missing."""
        failures = [
            each.error or "The search failed." for each in sub_queries if each.status is SubQueryStatus.FAILED
        ]
        if answer_state is AnswerState.FAILED:
            return _line("; ".join(dict.fromkeys(failures)))
        unmade = {s.query for s in sub_queries if s.status is SubQueryStatus.PENDING}
        limits = (each for each in self.state.limits if not unmade.isdisjoint(each.skipped))
        lines = [*(_limit_line(each) for each in limits), *(f"A search failed: {each}" for each in failures)]
        if answer_state in _WAITING and not lines:
            lines = [self.state.abort.message if self.state.abort else _WAITING[answer_state]]
        if answer_state is AnswerState.NOT_FOUND:
            ids = {name for each in sub_queries for name in each.source_ids}
            none = (
                "The search found no source." if not ids else f"None of {len(ids)} sources read answers it."
            )
            lines.insert(0, none if len(ids) != 1 else "The one source that was read does not answer it.")
        return _line(" ".join(dict.fromkeys(lines)))

    def _facts(self, sub_query: SubQuery) -> tuple[AnswerSentence, ...]:
        """Return facts of a task whose findings are not in the state yet."""
        task = self.state.task_of(sub_query.id)
        facts = task.outcome.facts if task is not None else ()
        told = (
            (fact.content, tuple(dict.fromkeys(quote.source_id for quote in fact.quotes)))
            for fact in sorted(facts, key=lambda each: _BY_CONFIDENCE[each.confidence])
        )
        return _first_sentences(each for each in told if each[1])

    def _sentences(
        self, question: str, findings: Sequence[Finding], part: QuestionPart | None = None
    ) -> tuple[AnswerSentence, ...]:
        """Return sentences of the best findings, those first that contain the expected kind of answer."""
        if not findings:
            return ()
        from deep_research.retrieval.parsed_question import (  # loads tables of languages
            may_hold,
            parse_question,
        )

        inquiry = parse_question(question if part is None else self.state.query)
        inquiry = inquiry if part is None else inquiry.of_part(part)
        asked = frozenset(inquiry.terms)
        least = MIN_RELEVANCE_SHARE * findings[0].relevance
        best = sorted(
            (each for each in findings[:MAX_COMPARED] if each.relevance >= least),
            key=lambda each: (
                not may_hold(inquiry.expects, each.content[:MAX_READ_CHARS], inquiry.words, asked)
            ),
        )
        return _first_sentences((_telling(each), each.source_ids) for each in best)


def _support(finding: Finding) -> tuple[float, ...]:
    rank = float("inf") if finding.rank is None else finding.rank
    return _BY_CONFIDENCE[finding.confidence], rank, -len(finding.source_ids), -finding.relevance


def _telling(finding: Finding) -> str:
    """Return the highlighted sentences of a finding, or its whole content if they are not in it."""
    if not finding.highlights or not finding.quotes:
        return finding.content
    passage = finding.quotes[0]
    spans = sorted((span.start, span.end) for span in finding.highlights)
    marked = [passage.quote[start - passage.start : end - passage.start] for start, end in spans]
    content = " ".join(finding.content[:MAX_READ_CHARS].split())
    told = [" ".join(text.split()) for text in marked]
    return " ".join(told) if all(text and text in content for text in told) else content


def _first_sentences(told: Iterable[tuple[str, tuple[str, ...]]]) -> tuple[AnswerSentence, ...]:
    from deep_research.text.sentences import sentence_spans

    kept: dict[str, AnswerSentence] = {}
    for content, source_ids in told:
        text = " ".join(content[:MAX_READ_CHARS].split())
        for start, end in sentence_spans(text, 0, len(text)):
            sentence = _cut(text[start:end], MAX_SENTENCE_CHARS)
            kept.setdefault(normalised(sentence), AnswerSentence(text=sentence, source_ids=source_ids))
            if len(kept) == MAX_SENTENCES:
                return tuple(kept.values())
    return tuple(kept.values())


def _limit_line(limit: Limit) -> str:
    return f"Not searched: {limit.message}"


def _line(text: str) -> str:
    return _cut(" ".join(text.split()), MAX_REASON_CHARS)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
