"""What the synthesizer's model is told to do: for a whole report, for one section of it, and for planning one."""

from __future__ import annotations

from deep_research.phases.prompting import RULES

_MATERIAL = """\
You are given the question and what was found: findings (F1, F2 …) with how sure they are, contradictions \
between them, and gaps. Nothing else counts: what you know yourself has no place in the report."""

_STYLE = f"""\
References
- After every statement that rests on findings stand their names in square brackets, like this [F2] or \
this [F1, F4]. Only names that were given.
- Do not write a list of references, links, addresses, images or HTML.

Style
- Plain, exact, readable. Figures with their units and dates. Say once what is to be said, nowhere twice.
- Tell what is well supported as such; what is weakly supported as "according to", "may", "one source \
says".
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

OUTLINE = f"""\
You plan the report of a piece of research. {_MATERIAL}

Give it a title and sections by theme, the most important first: three to six for most reports, more only \
for very long ones. Each has a heading of its own that says what is in it, one sentence on what it has to \
show, and the names of the findings it rests on. Each finding belongs to one section, so that nothing is \
said twice; findings that contradict each other belong to the same one. Leave out findings that the answer \
does not need. No section for the summary, the conclusion, the sources or what remains open: those are \
written apart.

{RULES}"""
