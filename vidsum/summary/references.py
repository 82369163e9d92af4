"""Loose references of English speech: words for what was named before a passage begins.

A passage stands by itself if those who did not hear what came before miss nothing. Its first sentences must
not join what was cut ("So that's why"), reply to it, or name something by a pronoun or a definite noun whose
first mention is not in the passage (givenness, Prince 1981). No grammar is needed: the words that refer are
few, and what they can refer to is a name, a noun after a determiner, or a word that was said a moment ago.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from vidsum.results.sentences import is_title

_TOKEN: Final = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[^\w\s]")
_STEM: Final = 5  # letters by which words are compared: plurals and tenses count as one
OPENING: Final = 3  # sentences of a passage that are read: what comes later has been named by then
_REPLY: Final = 1.2  # how much a reply joins what was said


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[\w']+", text))


_LINKS: Final = {
    **dict.fromkeys(
        _words(
            "and but or yet because which whose whom otherwise instead therefore thus hence however moreover "
            "furthermore similarly likewise also too plus meaning besides neither nor both another others "
            "namely versus latter former secondly thirdly lastly second third fourth fifth either plenty"
        ),
        1.0,
    ),
    **dict.fromkeys(
        _words("like then still again anyway anyways meanwhile finally even not eventually"), 0.7
    ),
    **dict.fromkeys(_words("so well basically oh ah okay ok actually obviously except"), 0.4),
    **dict.fromkeys(_words("now look um uh hmm just"), 0.1),
}
"""How much the first word of a sentence joins it to what was said before."""
_PHRASES: Final = re.compile(
    r"(for (example|instance)|in (fact|other words|addition|contrast|that|this|which)|after (all|that)|of "
    r"course|i mean|by the way|as a result|at (that|this|which) point|because of|(on )?the (other|same|"
    r"opposite|next|latter|former|reason|answer|result|second|third|fourth|last)\b(?! (day|time|year|week|"
    r"century))|same (thing|here)|one (big one|of (them|those|these))|even though|just that|what (that|this|"
    r"it) |first of all|number (two|three|four)|as (i|we|you|he|she) (said|mentioned))\b"
)
"""Beginnings that join what was said before."""
_REPLIES: Final = _words(
    "yes yeah yep no nope right sure exactly absolutely definitely totally correct indeed agreed true great "
    "gotcha cool awesome wow mm-hmm mhm uh-huh amen maybe probably"
)
_ASKING: Final = _words("which whose whom")
_PERSON: Final = _words("he she him her his hers himself herself he's she's he'd she'd he'll she'll")
_GROUP: Final = _words("they them their theirs themselves they're they've they'd they'll")
_THING: Final = _words("it its itself it's it'd it'll")
_THESE: Final = _words("this that these those that's that'd that'll this'll")
_PEOPLE: Final = re.compile(
    r"(wo)?m[ae]n|(grand)?(mother|father|son|daughter|parent)|mom|mum|dad|brother|sister|wife|husband|uncle|"
    r"aunt|cousin|boy|girl|kid|child|baby|friend|boss|doctor|nurse|teacher|professor|student|guy|lady|person|"
    r"people|somebody|someone|anybody|anyone|everybody|everyone|nobody|\w+(er|or|ist|ian|man|ee)"
)
"""Nouns for people."""
_MANY: Final = re.compile(
    r"people|men|women|children|kids|folks|guys|everyone|everybody|someone|somebody|anyone|anybody|person|"
    r"team|family|company|government|group|police|couple|crowd|audience|two|three|four|five|\w{2,}[^s'’iu]s"
)
"""Nouns for several."""
_HERE: Final = re.compile(
    r"mornings?|afternoon|evening|night|week|weekend|month|year|century|day|days|time|moment|talk|video|"
    r"episode|show|podcast|lecture|course|series|book|room|stage|country|city|planet|world|life|way|kind|"
    r"sort|conference|audience|point|whole|summer|winter|spring|season|stuff"
)
"""Nouns of what is present while somebody speaks."""
_LEADING: Final = _words(
    "a an the my our your their his her its every each some any no many several few all of in on at by for "
    "from with without into onto through over under between among against about across around behind near "
    "like than during if when because while although two three four five six seven eight nine ten called "
    "this that these those i'm we're new"
)
"""Words that a noun follows."""
_NO_NOUNS: Final = _words(
    "it one ones them us me him her you which what whom something anything nothing everything how doing "
    "being having going getting making trying using more less very really just not so too"
)
_RELATIVE: Final = _words("who whom whose that which where when of with for from i we you he she they")
"""Words after a noun that say which one is meant."""
_DEFINING: Final = _words("who whom whose that which where when of")
_VERBS: Final = _words(
    "is was are were will would can could should has had have does did do might must may means makes made "
    "happens happened sounds looks seems gives gave leads led works comes came goes went gets got helps "
    "helped"
)
_EXPLETIVE: Final = re.compile(
    r"(?!.{,60}\bto \w+ (?:with|about|at|of)\b)(?:it's|it is|it was|it would be|it will be|it has|it can be|"
    r"it might be|it'd be)(?: (?!\w+ed\b)[\w'-]+){1,6}? (?:to|that|when|if|how|who|whether|because|like)\b|"
    r"it (?:turns|turned|seems|seemed|takes|took|happens|happened|feels|felt|looks|looked|rains|dawned|"
    r"occurred|struck)\b|it's (?:a|an|the|my|our) [\w'-]+ (?:of|day|night|time)\b|it is (?:a|an) "
)
"""A subject that stands for nothing: "it is hard to say"."""
_COMMON: Final = _words(
    "i the a and but so or we you he she it they this that these those there here what when where why how "
    "who if in on at for to of my our your his her their its as by with from is are was were do does did not "
    "no yes i'm i've i'd i'll we're we've we'll you're it's that's there's what's let's don't"
)


_ADVERBIAL: Final = re.compile(
    r"(on|in|at|by|during|within) ((an?|the|some|every) )?[\w-]+( [\w-]+)?( of ((an?|the) )?[\w-]+)?,? "
    r"(it|they|he|she) (?!is\b|was\b|have\b)",
    re.IGNORECASE,
)
"""A beginning with a time or place, after which the subject was named before: "On a day of rain it loses"."""


@dataclass
class _Named:
    """Names and kinds that a passage has named so far."""

    stems: set[str] = field(default_factory=set)
    person: bool = False
    several: bool = False
    thing: bool = False

    def add(self, word: str, *, is_noun: bool, is_name: bool) -> None:
        """Note a word that was said."""
        low = word.lower()
        if low in _COMMON or not word[0].isalpha():
            return
        self.stems.add(_stem(low))
        if is_noun or is_name:
            self.thing = True
            self.person = self.person or is_name or bool(_PEOPLE.fullmatch(low.removesuffix("s")))
            self.several = self.several or is_name or bool(_MANY.fullmatch(low))


def _stem(word: str) -> str:
    return re.sub(r"['’]\w+$", "", word)[:_STEM]


def _stems_of(texts: Sequence[str]) -> frozenset[str]:
    """Return the beginnings of the words of texts that may name something."""
    words = (word.lower() for text in texts for word in _TOKEN.findall(text))
    return frozenset(_stem(word) for word in words if len(word) > 3 and word not in _COMMON)


def loose_references(texts: Sequence[str], before: Sequence[str] = ()) -> list[float]:
    """Return how much each of the first sentences of an English passage refers to what it does not name.

    0 is nothing, 1 a clear reference. `before` are the sentences ahead of the passage, the last ones. There
    are values of three sentences at most.
    """
    earlier, named = _stems_of(before), _Named()
    return [
        _loose_in(text, named, earlier, is_first=number == 0) for number, text in enumerate(texts[:OPENING])
    ]


def joins(text: str) -> float:
    """Return how much the first words of an English sentence join it to the one before: 0 to about 2."""
    total, words = 0.0, re.findall(r"[\w'-]+", text.lower().replace("’", "'"))
    if words and words[0] in _REPLIES:
        return _REPLY
    if words and words[0] in _ASKING and text.rstrip().endswith("?"):
        return 0.0
    for number in range(min(len(words), 4)):
        if _PHRASES.match(" ".join(words[number : number + 5])):
            return total + 1.0
        if words[number] not in _LINKS:
            break
        total += _LINKS[words[number]]
    return total


def _loose_in(text: str, named: _Named, earlier: frozenset[str], *, is_first: bool) -> float:
    """Return the weight of the loose references of a sentence, and note what it names."""
    tokens = _TOKEN.findall(text.replace("’", "'"))
    lower = [token.lower() for token in tokens]
    total = joins(text) + float(bool(_ADVERBIAL.match(text))) if is_first else 0.0
    for at, (token, word) in enumerate(zip(tokens, lower, strict=True)):
        if not token[0].isalnum():
            continue
        total += _loose_at(lower, at, named, earlier, is_first=is_first)
        after = tokens[at + 1] if at + 1 < len(tokens) else "."
        is_start = at == 0 or lower[at - 1] in '.!?"“:'
        is_name = (
            token[0].isupper()
            and word not in _COMMON
            and (not is_start or after[0].isupper() or is_title(token + after))
        )
        if is_name and is_first and _stem(word) in earlier and _stem(word) not in named.stems:
            total += 0.25
        led = any(part in _LEADING for part in lower[max(at - 2, 0) : at])
        is_noun = (
            led or (is_start and (word.endswith("s") or _PEOPLE.fullmatch(word))) or after.lower() in _VERBS
        ) and word not in _NO_NOUNS
        named.add(token, is_noun=is_noun, is_name=is_name)
    return total


def _loose_at(
    lower: Sequence[str], at: int, named: _Named, earlier: frozenset[str], *, is_first: bool
) -> float:
    """Return how much a word refers to what was not named."""
    word, after = lower[at], lower[at + 1] if at + 1 < len(lower) else "."
    if word in _PERSON:
        return 0.0 if named.person else 1.0
    if word in _GROUP:
        return 0.0 if named.several or named.person or after == "who" else 1.0
    if word in _THING:
        is_free = named.thing or not is_first or _EXPLETIVE.match(" ".join(lower[at : at + 10]))
        return 0.0 if is_free else 1.0
    if word in _THESE and is_first:
        return _loose_pointer(lower, at, named, earlier)
    if word == "the":
        return _loose_noun(lower, at, named, earlier) * (1.0 if is_first else 0.5)
    if is_first and word in ("there", "then") and after in ".,!?":
        return 0.0 if named.thing else 0.7
    if is_first and word in ("also", "too", "instead", "either") and at:
        return 0.7
    return 0.0


def _loose_pointer(lower: Sequence[str], at: int, named: _Named, earlier: frozenset[str]) -> float:
    """Return how much "this", "that" and their plurals refer to what was not named."""
    word, after = lower[at], lower[at + 1] if at + 1 < len(lower) else "."
    if word == "those" and after in _DEFINING:
        return 0.0
    is_late = at > 8 and named.thing and lower[at - 1] not in ("do", "did")  # the sentence may have said it
    if after in _VERBS or not after[0].isalnum() or word.endswith(("'s", "'d", "'ll")):
        is_linking = (
            word == "that"
            and at > 0
            and after in _VERBS
            and lower[at - 1] not in (",", "and", "so", "but", "because")
        )
        return 0.0 if is_late or is_linking else 1.0
    if word == "that" and (at == 0 or lower[at - 1] not in _LEADING):
        return 0.0 if at else 0.7
    head = _head(lower, at)
    if head is None:
        return 0.0 if is_late else 1.0
    if _HERE.fullmatch(lower[head]) or _stem(lower[head]) in named.stems:
        return 0.0
    following = lower[head + 1 : head + 2]
    if (word != "this" or at > 1) and following and following[0] in _DEFINING:
        return 0.0
    return 0.3 if word == "this" and at > 1 and _stem(lower[head]) not in earlier else 1.0


def _loose_noun(lower: Sequence[str], at: int, named: _Named, earlier: frozenset[str]) -> float:
    """Return how much a noun after "the" is one that was named a moment ago, but not in the passage."""
    head = _head(lower, at)
    if head is None or _HERE.fullmatch(lower[head]) or _stem(lower[head]) in named.stems:
        return 0.0
    is_defined = bool({*lower[head + 1 : head + 2]} & _RELATIVE)
    return 0.4 if _stem(lower[head]) in earlier and not is_defined else 0.0


def _head(lower: Sequence[str], at: int) -> int | None:
    """Return where the last word of the noun phrase after a determiner is."""
    head = None
    for number in range(at + 1, min(at + 4, len(lower))):
        word = lower[number]
        if (
            word in _COMMON
            or word in _VERBS
            or word in _LEADING
            or word in _RELATIVE
            or not word[0].isalnum()
        ):
            break
        head = number
    return head
