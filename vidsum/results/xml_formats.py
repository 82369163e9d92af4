"""Timelines in XML: Final Cut Pro X, Final Cut Pro 7 (for Premiere and Resolve), MLT and Kdenlive."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from vidsum.results.media import NTSC_RATES, Clip, Media, url_of


def _node(tag: str, about: Mapping[str, object], *children: Element) -> Element:
    element = Element(tag, {name: str(value) for name, value in about.items()})
    element.extend(children)
    return element


def _leaves(values: Mapping[str, object]) -> Iterator[Element]:
    """Yield an element that holds text for each value."""
    for tag, value in values.items():
        element = Element(tag)
        element.text = str(value)
        yield element


def _text(root: Element, doctype: str = "") -> str:
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{doctype}{text}\n'


def _starts(clips: Sequence[Clip]) -> list[int]:
    return list(accumulate((clip.n_frames for clip in clips), initial=0))


def _videos(clips: Sequence[Clip]) -> dict[str, tuple[int, Clip]]:
    """Return the number of each video, from 1, and its first clip, by its place."""
    firsts = {clip.place: clip for clip in reversed(clips)}
    places = dict.fromkeys(clip.place for clip in clips)
    return {place: (number, firsts[place]) for number, place in enumerate(places, 1)}


def to_fcpxml(clips: Sequence[Clip], name: str) -> str:
    """FCPXML 1.10, by Apple's document type: a library with an event with a project."""
    main, videos, starts = clips[0].media, _videos(clips), _starts(clips)
    code = {"tcFormat": "DF" if main.is_drop_frame else "NDF"}

    def time(n_frames: int) -> str:  # a fraction even of whole seconds, as LosslessCut reads no others
        return f"{n_frames * main.rate.denominator}/{main.rate.numerator}s"

    def asset(number: int, clip: Clip) -> Element:
        media = clip.media
        about: dict[str, object] = {"id": f"video{number}", "name": clip.name, "format": "frame"}
        about |= {"start": time(media.first_number), "duration": time(media.n_frames), "hasVideo": 1}
        if media.n_channels:
            about |= {"hasAudio": 1, "audioSources": 1, "audioChannels": media.n_channels}
            about |= {"audioRate": media.sample_rate}
        return _node("asset", about, _node("media-rep", {"src": url_of(clip.place)}))

    def asset_clip(clip: Clip, offset: int) -> Element:
        first = time(clip.media.first_number + clip.span[0])
        about = {"ref": f"video{videos[clip.place][0]}", "name": clip.name, "offset": time(offset)}
        about |= {"start": first, "duration": time(clip.n_frames), **code}
        return _node(
            "asset-clip", about, _node("marker", {"start": first, "duration": time(1), "value": clip.marker})
        )

    frame = {"id": "frame", "frameDuration": time(1), "width": main.width, "height": main.height}
    assets = [asset(*video) for video in videos.values()]
    spine = _node("spine", {}, *map(asset_clip, clips, starts))
    about = {"format": "frame", "duration": time(starts[-1]), "tcStart": time(0), **code}
    project = _node("project", {"name": name}, _node("sequence", about, spine))
    library = _node("library", {}, _node("event", {"name": name}, project))
    resources = _node("resources", {}, _node("format", frame), *assets)
    return _text(_node("fcpxml", {"version": "1.10"}, resources, library), "<!DOCTYPE fcpxml>\n")


def to_xmeml(clips: Sequence[Clip], name: str) -> str:
    """Final Cut Pro 7 XML: a track for each channel of sound, its clips linked to those of the picture."""
    main, videos, starts = clips[0].media, _videos(clips), _starts(clips)
    loudest = max((clip.media for clip in clips), key=lambda media: media.n_channels)
    keys = {  # of each clip on each track; 0 is the picture's
        (number, track): f"clipitem-{number + 1}-{track}"
        for number, clip in enumerate(clips)
        for track in range(clip.media.n_channels + 1)
    }

    def link(number: int, track: int) -> Element:
        """To the part of a clip on a track, by its place there."""
        place = sum((before, track) in keys for before in range(number + 1))
        about = {"linkclipref": keys[number, track], **_track(track), "clipindex": place}
        return _node("link", {}, *_leaves(about | ({"groupindex": 1} if track else {})))

    def item(number: int, track: int) -> Element:
        clip, start, (first, end) = clips[number], starts[number], clips[number].span
        video, described = videos[clip.place]
        file = _node("file", {"id": f"file-{video}"})
        if clip is described and not track:  # once; the others name it
            file.extend(_file(clip))
        times = {"start": start, "end": start + clip.n_frames, "in": first, "out": end}
        node = _node("clipitem", {"id": keys[number, track]})
        node.extend(_leaves({"name": clip.name, "duration": clip.media.n_frames}))
        node.extend((_rate(main), *_leaves(times), file, _node("sourcetrack", {}, *_leaves(_track(track)))))
        node.extend(link(number, other) for other in range(clip.media.n_channels + 1))
        if not track:
            node.append(_node("marker", {}, *_leaves({"name": clip.marker, "in": first, "out": first + 1})))
        return node

    def row(track: int) -> Element:
        return _node("track", {}, *(item(number, other) for number, other in keys if other == track))

    media = _node("media", {}, _node("video", {}, _node("format", {}, _picture(main)), row(0)))
    if loudest.n_channels:
        sound = _node("audio", {}, *_leaves({"numOutputChannels": loudest.n_channels}))
        sound.append(_node("format", {}, _sound(loudest)))
        sound.extend(row(track + 1) for track in range(loudest.n_channels))
        media.append(sound)
    sequence = _node("sequence", {"id": "sequence-1"}, *_leaves({"name": name, "duration": starts[-1]}))
    sequence.extend((_rate(main), _code(main, 0), media))
    return _text(_node("xmeml", {"version": "4"}, sequence), "<!DOCTYPE xmeml>\n")


def _file(clip: Clip) -> Iterator[Element]:
    media = clip.media
    yield from _leaves({"name": clip.name, "pathurl": url_of(clip.place), "duration": media.n_frames})
    kinds = _node("media", {}, _node("video", {}, _picture(media)))
    if media.n_channels:
        kinds.append(_node("audio", {}, _sound(media), *_leaves({"channelcount": media.n_channels})))
    yield from (_rate(media), _code(media, media.first_number), kinds)


def _track(track: int) -> dict[str, object]:
    return {"mediatype": "audio" if track else "video", "trackindex": track or 1}


def _rate(media: Media) -> Element:
    ntsc = "TRUE" if media.rate in NTSC_RATES else "FALSE"
    return _node("rate", {}, *_leaves({"timebase": round(media.rate), "ntsc": ntsc}))


def _picture(media: Media) -> Element:
    size = {"width": media.width, "height": media.height, "pixelaspectratio": "square"}
    return _node("samplecharacteristics", {}, _rate(media), *_leaves(size))


def _sound(media: Media) -> Element:
    return _node("samplecharacteristics", {}, *_leaves({"depth": 16, "samplerate": media.sample_rate}))


def _code(media: Media, number: int) -> Element:
    mode = "DF" if media.is_drop_frame else "NDF"
    about = {"string": media.time_code_of(number), "frame": number, "displayformat": mode}
    return _node("timecode", {}, _rate(media), *_leaves(about))


def to_mlt(clips: Sequence[Clip], name: str) -> str:
    """MLT, as Shotcut has a project of one track."""
    clips = [replace(clip, media=clip.media.by_mlt()) for clip in clips]
    videos, whole = _videos(clips), {"in": 0, "out": _starts(clips)[-1] - 1}
    black = _node("producer", {"id": "black", **whole}, *_properties(_BLACK))
    background = _node("playlist", {"id": "background"}, _node("entry", {"producer": "black", **whole}))
    entries = (_entry(videos[clip.place][0], clip) for clip in clips)
    track = _properties({"shotcut:video": 1, "shotcut:name": "V1"})
    tractor = _node("tractor", {"id": "tractor0", **whole}, *_properties({"shotcut": 1}))
    tractor.extend(_node("track", {"producer": name}) for name in ("background", "playlist0"))
    about = {"LC_NUMERIC": "C", "version": "7.22.0", "title": name, "producer": "tractor0"}
    root = _node("mlt", about, _profile(clips[0].media), *(_chain(*video) for video in videos.values()))
    root.extend((black, background, _node("playlist", {"id": "playlist0"}, *track, *entries), tractor))
    return _text(root)


_BLACK = {"eof": "continue", "resource": "black", "mlt_service": "color", "aspect_ratio": 1}


def to_kdenlive(clips: Sequence[Clip], name: str) -> str:
    """Return a Kdenlive project of document version 1.1, which Kdenlive has from 23.04 on.

    A track is a tractor of two playlists; the tracks are in a sequence; the bin has this and each video.
    """
    clips = [replace(clip, media=clip.media.by_mlt()) for clip in clips]
    videos, starts = _videos(clips), _starts(clips)
    whole = {"in": 0, "out": starts[-1] - 1}
    uuid = f"{{{uuid5(NAMESPACE_URL, json.dumps([name, *videos]))}}}"
    guides = [
        {"comment": clip.marker, "duration": 0, "pos": start, "type": 0}
        for clip, start in zip(clips, starts, strict=False)
    ]
    about = {"kdenlive:uuid": uuid, "kdenlive:clipname": name}
    about |= {"kdenlive:sequenceproperties.guides": json.dumps(guides, ensure_ascii=False)}
    document = {"kdenlive:docproperties.uuid": uuid, "kdenlive:docproperties.version": "1.1", "xml_retain": 1}
    black = {"id": "black_track", **whole}
    sequence = _node("tractor", {"id": uuid, **whole}, *_properties(about))
    sequence.extend(_node("track", {"producer": name}) for name in ("black_track", "audio", "video"))
    content = _node("playlist", {"id": "main_bin"}, *_properties(document))
    content.append(_node("entry", {"producer": uuid, **whole}))
    content.extend(_node("entry", {"producer": f"bin{number}"}) for number, _ in videos.values())
    project = _node("tractor", {"id": "project", **whole}, *_properties({"kdenlive:projectTractor": 1}))
    project.append(_node("track", {"producer": uuid, **whole}))
    about = {"LC_NUMERIC": "C", "version": "7.22.0", "title": name, "producer": "main_bin"}
    root = _node("mlt", about, _profile(clips[0].media))
    root.append(_node("producer", black, *_properties({**_BLACK, "kdenlive:playlistid": "black_track"})))
    root.extend((*_kdenlive_track(clips, "audio"), *_kdenlive_track(clips, "video")))
    root.extend(_chain(*video, "bin", {"kdenlive:id": video[0] + 3}) for video in videos.values())
    root.extend((sequence, content, project))
    return _text(root)


def _kdenlive_track(clips: Sequence[Clip], kind: str) -> Iterator[Element]:
    """Yield the videos, playlists and tractor of a track of sound or pictures."""
    videos, is_audio = _videos(clips), kind == "audio"
    use = {"set.test_audio": int(not is_audio), "set.test_video": int(is_audio)}
    for number, clip in videos.values():
        yield _chain(number, clip, kind, {"kdenlive:id": number + 3, **use})
    mark = {"kdenlive:audio_track": 1} if is_audio else {}
    first = _node("playlist", {"id": f"{kind}_a"}, *_properties(mark))
    for clip in clips:
        number = videos[clip.place][0]
        is_silent = is_audio and not clip.media.n_channels
        blank, about = {"length": clip.n_frames}, {"kdenlive:id": number + 3}
        first.append(_node("blank", blank) if is_silent else _entry(number, clip, kind, about))
    yield from (first, _node("playlist", {"id": f"{kind}_b"}, *_properties(mark)))
    whole = {"id": kind, "in": 0, "out": _starts(clips)[-1] - 1}
    hide = {"hide": "video" if is_audio else "audio"}
    tracks = (_node("track", {**hide, "producer": f"{kind}_{letter}"}) for letter in "ab")
    yield _node("tractor", whole, *_properties({**mark, "kdenlive:timeline_active": 1}), *tracks)


def _chain(number: int, clip: Clip, prefix: str = "chain", more: Mapping[str, object] = {}) -> Element:
    length = clip.media.n_frames
    about = {"length": length, "resource": Path(clip.place).as_posix(), "mlt_service": "avformat-novalidate"}
    whole = {"id": f"{prefix}{number}", "in": 0, "out": length - 1}
    return _node("chain", whole, *_properties({**about, **more}))


def _entry(number: int, clip: Clip, prefix: str = "chain", about: Mapping[str, object] = {}) -> Element:
    first, end = clip.span
    return _node("entry", {"producer": f"{prefix}{number}", "in": first, "out": end - 1}, *_properties(about))


def _properties(values: Mapping[str, object]) -> Iterable[Element]:
    for name, value in values.items():
        node = _node("property", {"name": name})
        node.text = str(value)
        yield node


def _profile(media: Media) -> Element:
    """MLT's profile: the picture as shown, with square pixels."""
    rate = {"frame_rate_num": media.rate.numerator, "frame_rate_den": media.rate.denominator}
    size = {"width": media.width, "height": media.height}
    aspect = {"display_aspect_num": media.width, "display_aspect_den": media.height}
    square = {"sample_aspect_num": 1, "sample_aspect_den": 1, "progressive": 1, "colorspace": 709}
    return _node("profile", {"description": "automatic", **rate, **size, **aspect, **square})
