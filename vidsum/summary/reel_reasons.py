"""Why the parts of a reel are in it, in words: facts about a part among all parts and inputs."""

from collections.abc import Sequence

from vidsum.results.reel import day_in_words
from vidsum.summary.reel_parts import ChosenPart, ReelInput


def describe_reasons(chosen: Sequence[ChosenPart], inputs: Sequence[ReelInput]) -> list[str]:
    """Return a line for each part of a reel, about the term of the objective that is its reason."""
    lines = list[str]()
    for part in chosen:
        same = [other for other in chosen if other.source == part.source]
        several = f"; part {same.index(part) + 1} of {len(same)} from its clip" if len(same) > 1 else ""
        lines.append(_describe_reason(part, chosen, inputs) + several)
    return lines


def _describe_reason(part: ChosenPart, chosen: Sequence[ChosenPart], inputs: Sequence[ReelInput]) -> str:
    if part.reason == "speech":
        return "somebody speaks"
    if part.reason == "picture":
        return "shows what no other part shows"
    if part.reason == "importance":
        return _describe_importance(part, inputs)
    day = inputs[part.source].day
    if day and sum(inputs[other.source].day == day for other in chosen) == 1:
        return f"the only part of {day_in_words(day)}"
    return "the only part of its input"


def _describe_importance(part: ChosenPart, inputs: Sequence[ReelInput]) -> str:
    """Return the place of its input among all if it is in the first half, else what is true of the part."""
    source = inputs[part.source]
    place = 1 + sum(other.importance > source.importance for other in inputs)
    if len(inputs) > 1 and 2 * place <= len(inputs):
        return f"number {place} of {len(inputs)} inputs by importance"
    known = {(other.start_s, other.end_s): other.importance for other in source.parts}
    if len(known) > 1 and known[part.start_s, part.end_s] == max(known.values()):
        return "the most important part of its clip"
    return "its importance is above the mean of the film"
