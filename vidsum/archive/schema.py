"""The tables of an archive, in the types of SQLite, which `postgres` translates (docs/formats.md)."""

from vidsum.errors import InputError, Mention

VERSION = 12
REINDEX_HINT = "remove it, and index the videos again: vidsum index FOLDER"
TABLES = """
CREATE TABLE spaces (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,                 -- of the image-text space, the same in all rows
    made_from TEXT NOT NULL UNIQUE,     -- digest of the networks
    axes BLOB NOT NULL                  -- float32 [D, d]: what the vectors of shots are projected on
);
CREATE TABLE videos (
    id INTEGER PRIMARY KEY,
    sha256 TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    duration_s REAL NOT NULL,
    start_offset_s REAL NOT NULL,       -- from the file's start to its first picture
    tracks TEXT NOT NULL,               -- "video,audio": their numbers, 0 where a file has no other
    fast INTEGER NOT NULL,              -- 1: key frames alone were read
    space INTEGER NOT NULL REFERENCES spaces(id),
    added_s REAL NOT NULL,              -- seconds since 1970
    edges BLOB NOT NULL,                -- float64 [E + 1] seconds: the edges of its shots
    first_shot INTEGER NOT NULL,        -- id; those of a video follow each other
    n_shots INTEGER NOT NULL,
    scan BLOB NOT NULL,                 -- a record per piece of a shot
    usual_mean REAL NOT NULL DEFAULT 0, -- cosine of everyday phrases with its clips: see `Usual`
    usual_deviation REAL NOT NULL DEFAULT 1,
    usual_best REAL NOT NULL DEFAULT 0
);
CREATE INDEX videos_of_content ON videos(sha256);
CREATE TABLE files (
    path BLOB PRIMARY KEY,              -- absolute, in the file system's bytes
    video INTEGER NOT NULL REFERENCES videos(id),
    bytes INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    gone_s REAL                         -- seconds since 1970; NULL: it was there
);
CREATE INDEX files_of_video ON files(video);
CREATE TABLE shots (
    id INTEGER PRIMARY KEY,
    video INTEGER NOT NULL REFERENCES videos(id) ON DELETE CASCADE,
    start_s REAL NOT NULL,
    end_s REAL NOT NULL,
    clips BLOB NOT NULL,                -- a record per second
    jpeg BLOB NOT NULL,                 -- a small picture
    actions BLOB                        -- a record per second; NULL: they were not looked for
);
CREATE INDEX shots_of_video ON shots(video);
CREATE TABLE claims (
    path BLOB PRIMARY KEY,              -- of a file that a process looks at
    owner TEXT NOT NULL,                -- see vidsum.archive.claims
    until_s REAL NOT NULL               -- seconds since 1970
);
"""
EVIDENCE_TABLE = (
    """CREATE TABLE evidence (
    video INTEGER NOT NULL REFERENCES videos(id) ON DELETE CASCADE,
    kind TEXT NOT NULL,                 -- speech, text, sound or described
    records BLOB NOT NULL,              -- empty where there is none; no row: it was not looked for
    made_from TEXT,                     -- SHA-256 of the file that it is from; NULL: of the video
    made_with TEXT                      -- the vision-language model that wrote it; NULL: none did
)""",
    "CREATE UNIQUE INDEX evidence_of_video ON evidence(video, kind)",
)
PASSAGES = "passages"
"""The full-text table of what is said, written and told: text, video, kind, start_s, end_s, certain."""


OLDEST = 10  # version that `vidsum.archive.migration` reads


def require_known(version: int, name: str) -> None:
    """Refuse an archive of a version that is neither today's nor can become it."""
    if not OLDEST <= version <= VERSION:
        hint = (
            ("pip install -U vidsum, or ", Mention("archive", "FILE")) if version > VERSION else REINDEX_HINT
        )
        raise InputError(f"has schema {version}, and this vidsum reads {VERSION}", hint=hint, subject=name)
