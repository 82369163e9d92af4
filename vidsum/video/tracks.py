"""The tracks of a file, and the one of each kind that is read: FFmpeg's choice, or the user's."""

import re
from collections.abc import Sequence
from typing import Any, Literal, get_args

import av
from av.stream import Disposition, Stream

from vidsum.errors import InputError
from vidsum.types import TrackChoice

TrackKind = Literal["video", "audio"]

_COVERS = Disposition.attached_pic | Disposition.timed_thumbnails
_DEFAULT_SCORE = 5_000_000  # that FFmpeg adds for the flag `default` (`map_auto_video`)
_LANGUAGE_CODES = (
    "aa aar; ab abk; ae ave; af afr; ak aka; am amh; an arg; ar ara; as asm; av ava; ay aym; az aze; "
    "ba bak; be bel; bg bul; bh bih; bi bis; bm bam; bn ben; bo bod tib; br bre; bs bos; ca cat; ce che; "
    "ch cha; co cos; cr cre; cs ces cze; cu chu; cv chv; cy cym wel; da dan; de deu ger; dv div; dz dzo; "
    "ee ewe; el ell gre; en eng; eo epo; es spa; et est; eu eus baq; fa fas per; ff ful; fi fin; fj fij; "
    "fo fao; fr fra fre; fy fry; ga gle; gd gla; gl glg; gn grn; gu guj; gv glv; ha hau; he heb; hi hin; "
    "ho hmo; hr hrv; ht hat; hu hun; hy hye arm; hz her; ia ina; id ind; ie ile; ig ibo; ii iii; ik ipk; "
    "io ido; is isl ice; it ita; iu iku; ja jpn; jv jav; ka kat geo; kg kon; ki kik; kj kua; kk kaz; "
    "kl kal; km khm; kn kan; ko kor; kr kau; ks kas; ku kur; kv kom; kw cor; ky kir; la lat; lb ltz; "
    "lg lug; li lim; ln lin; lo lao; lt lit; lu lub; lv lav; mg mlg; mh mah; mi mri mao; mk mkd mac; "
    "ml mal; mn mon; mr mar; ms msa may; mt mlt; my mya bur; na nau; nb nob; nd nde; ne nep; ng ndo; "
    "nl nld dut; nn nno; no nor; nr nbl; nv nav; ny nya; oc oci; oj oji; om orm; or ori; os oss; pa pan; "
    "pi pli; pl pol; ps pus; pt por; qu que; rm roh; rn run; ro ron rum; ru rus; rw kin; sa san; sc srd; "
    "sd snd; se sme; sg sag; si sin; sk slk slo; sl slv; sm smo; sn sna; so som; sq sqi alb; sr srp; "
    "ss ssw; st sot; su sun; sv swe; sw swa; ta tam; te tel; tg tgk; th tha; ti tir; tk tuk; tl tgl; "
    "tn tsn; to ton; tr tur; ts tso; tt tat; tw twi; ty tah; ug uig; uk ukr; ur urd; uz uzb; ve ven; "
    "vi vie; vo vol; wa wln; wo wol; xh xho; yi yid; yo yor; za zha; zh zho chi; zu zul"
)  # codes of languages in ISO 639-1, 639-2/T and 639-2/B, where they have several


def list_tracks(container: av.container.InputContainer, kind: TrackKind) -> list[Any]:
    """List the streams of a kind in the order of the file, without covers and thumbnails."""
    return [stream for stream in getattr(container.streams, kind) if not stream.disposition & _COVERS]


def choose_track(
    container: av.container.InputContainer, name: object, kind: TrackKind, choice: TrackChoice = None
) -> Any:
    """Choose the stream of a kind to read; None where the file has none.

    Without a choice (a number from 1, or a language) it is the one that `ffmpeg -i` maps: the flag `default`
    counts most, then pixels or channels; the first of equals. Tracks that are empty or that FFmpeg cannot
    decode come last. `name` is what errors call the file. Raises InputError: it has no such track.
    """
    tracks = list_tracks(container, kind)
    fitting = [
        track
        for number, track in enumerate(tracks, 1)
        if choice is None or str(choice) == str(number) or _is_in(track, str(choice))
    ]
    if choice is not None and not fitting:
        raise InputError(f"{name}: has no {kind} track {choice}; it has {_format_tracks(tracks) or 'none'}")
    return max(fitting, key=_score, default=None)


def track_number(container: av.container.InputContainer, track: Stream | None) -> int | None:
    """Return the number of a track among those of its kind; None where there is no other."""
    tracks = list_tracks(container, "audio" if isinstance(track, av.AudioStream) else "video")
    return tracks.index(track) + 1 if track and len(tracks) > 1 else None


def codec_name(track: Any) -> str:
    return str(track.codec_context.codec.canonical_name) if track.codec_context else "unknown"


def describe_choice(
    container: av.container.InputContainer, name: object, kind: TrackKind, number: int
) -> str:
    """Return a message on the track that is used in place of others."""
    tracks = list_tracks(container, kind)
    used = f"{name}: used {kind} track {number} of {len(tracks)} ({_label(tracks[number - 1])})"
    return f"{used}; others: {_format_tracks(tracks, besides=number)}; choose with --{kind}-track"


def _format_tracks(tracks: Sequence[Any], besides: int = 0) -> str:
    return ", ".join(f"{n} {_label(track)}" for n, track in enumerate(tracks, 1) if n != besides)


def _label(track: Any) -> str:
    title = track.metadata.get("title")
    return f"{track.language or 'und'}{f' {title!r}' if title else ''}"


def describe_tracks(container: av.container.InputContainer, used: Sequence[Stream]) -> list[dict[str, Any]]:
    """List what is known of each track; those that are `used` are marked."""
    facts = []
    for kind in get_args(TrackKind):
        for number, track in enumerate(list_tracks(container, kind), 1):
            codec = track.codec_context
            sizes = ("width", "height") if kind == "video" else ("channels", "sample_rate")
            facts.append(
                {
                    "kind": kind,
                    "number": number,
                    "chosen": track in used,
                    "codec": codec_name(track),
                    **{name: getattr(codec, name, None) for name in sizes},
                    "language": track.language,
                    "title": track.metadata.get("title"),
                    "flags": [flag.name for flag in Disposition if track.disposition & flag],
                }
            )
    return facts


def _score(track: Any) -> tuple[bool, int]:
    """Rate a track as FFmpeg does (fftools, `map_auto_video` and `map_auto_audio`)."""
    codec = track.codec_context
    if codec is None:
        return False, 0
    size = codec.width * codec.height if track.type == "video" else codec.channels
    # a Matroska file declares empty tracks, as where a recorder had no input
    lengths = [text for name, text in track.metadata.items() if name.upper().startswith("DURATION")]
    is_empty = bool(lengths) and not lengths[0].strip("0:.")
    return not is_empty, size + _DEFAULT_SCORE * bool(track.disposition & Disposition.default)


def _is_in(track: Any, language: str) -> bool:
    """Return whether a track is in a language, which may be given by any of its codes."""
    languages = {re.split("[-_]", text.lower())[0] for text in (track.language or "und", language)}
    return len(languages) == 1 or any(languages <= {*codes.split()} for codes in _LANGUAGE_CODES.split("; "))
