"""What the synthesizer's model is told to do: for a whole report, for one section of it, and for planning one."""

from __future__ import annotations

from deep_research.phases.prompting import RULES

_MATERIAL = """\
You are given the question and what was found: findings (F1, F2 …) with how sure they are, contradictions \
between them, and gaps. Of the sources (S1, S2 …) you are told who says it, when, and how good they are; what they have \
word for word stands beside the findings, so that you know what these are about. Nothing else counts: what you know \
yourself has no place in the report."""

_STYLE = f"""\
References
- After every statement that rests on findings stand their names in square brackets, like this [F2] or \
this [F1, F4]. Only names that were given.
- Do not write a list of references, links, addresses, images or HTML.

Style
- Plain, exact, readable. Figures with their units and dates. Say once what is to be said, nowhere twice.
- Tell what is well supported as such. What rests on one source is told as its: who says it, and when, as in \
“according to the maintainers, March 2025”. Copies of one text are one source. Where a newer or more competent source \
stands against an older one, say so.
- Say nothing of how the research was done, of findings, sources or this task.

{RULES}"""

WHOLE = f"""\
You write the report of a piece of research. {_MATERIAL}

Form
- Markdown. A title after "# ", then sections after "## ".
- First a section that answers the question in two to four sentences, the answer before everything else, \
with how sure it is.
- Then sections by theme, the most important first, with headings that say what is in them. Short \
paragraphs; a table where things are compared or figures stand over time; no list where a sentence does.
- If findings contradict each other, put them side by side and say which is better supported and why.
- Last a section on what remains open: the gaps that matter to the reader. No closing remarks after it.

{_STYLE}"""

PART = f"""\
You write one part of the report of a piece of research; other parts are written by others. {_MATERIAL}

Form
- Markdown without the heading of the part, which stands there already. Short paragraphs; a table where \
things are compared or figures stand over time; no list where a sentence does.
- If findings contradict each other, put them side by side and say which is better supported and why.
- No introduction, no summary, no outlook.

{_STYLE}"""

FRAME = f"""\
You write what stands before and after the sections of a report: first the answer to the question in two to four \
sentences, with how sure it is; last what remains open, the gaps that matter to the reader, in short paragraphs or a \
list. {_MATERIAL}

{_STYLE}"""

OUTLINE = f"""\
You plan the report of a piece of research. {_MATERIAL}

Give it a title and sections by theme, the most important first: three to six for most reports, more only \
for very long ones. Each has a heading of its own that says what is in it, one sentence on what it has to \
show, and the names of the findings it rests on. A finding may serve several sections, for what each has to show; what \
it says is told in full in one of them. Findings that contradict each other belong to the same one. \
Leave out findings that the answer \
does not need. No section for the summary, the conclusion, the sources or what remains open: those are \
written apart.

{RULES}"""

REVISION = f"""\
You write the report of a piece of research, of which there is a version already: you revise it. {_MATERIAL}

You are given the report as it is, what is said of it, and what was found, of which some is new. Make it better where \
that is called for, and leave the rest alone: a good passage that you do not touch stays as it is.

Form
- Give only the sections that change, each whole, after its heading as it stands ("## …"). A new section gets a heading \
of its own; one that is to go is given with nothing under its heading. What you do not give stays word for word.
- Take up the findings that the report does not use yet, where they answer the question; where they say otherwise than \
the report, tell both, and which is better supported.
- If nothing has to change, answer with the first section as it is.

{_STYLE}"""

LAST_PASS = f"""\
You write the report of a piece of research, whose sections were written side by side: you go over it once more. What \
is said twice stays where it belongs and \
goes elsewhere; where two sections do not fit together, mend the seam; names and figures are written alike everywhere. \
Add no statement, change no figure, and keep the references behind what they stand for.

Give only the sections that change, each whole, after its heading as it stands ("## …"); what you do not give stays \
word for word. If nothing has to change, answer with the first section as it is.

{_STYLE}"""
