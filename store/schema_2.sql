-- Version 2: checkpoints, the event log and verifications. An attempt can continue an earlier one:
-- then what counts is the earlier one up to the checkpoint, followed by the later one.

ALTER TABLE attempts ADD COLUMN resumed_from INTEGER REFERENCES checkpoints (id);
ALTER TABLE attempts ADD COLUMN changed TEXT NOT NULL DEFAULT '{}';  -- JSON: {key: [then, now]}
-- As valid_until_tick: later chunks of events are superseded; NULL: none is.
ALTER TABLE attempts ADD COLUMN valid_until_chunk INTEGER;

-- A consistent cut of a run in a file. `number` counts a run's checkpoints over all attempts.
CREATE TABLE checkpoints (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  attempt         INTEGER NOT NULL REFERENCES attempts (id),
  number          INTEGER NOT NULL,
  step            INTEGER NOT NULL,
  gradients       INTEGER NOT NULL,
  normalised_time REAL,
  seconds         REAL,
  bytes           INTEGER NOT NULL,
  last_tick       INTEGER NOT NULL,  -- ticks of the attempt up to here come before the cut
  last_chunk      INTEGER NOT NULL,  -- and so do its event chunks up to here; 0: none does
  path            TEXT NOT NULL,     -- relative to the store's folder
  sha256          TEXT NOT NULL,
  file_bytes      INTEGER NOT NULL,
  created         TEXT NOT NULL,
  removed         TEXT,              -- when the file was let go of
  superseded      INTEGER NOT NULL DEFAULT 0,
  UNIQUE (attempt, number)
) STRICT;
CREATE INDEX checkpoints_with_file ON checkpoints (attempt) WHERE removed IS NULL;

-- What a cut held, by worker. tensors: the first 8 bytes of each tensor's SHA-256, in order.
CREATE TABLE cut_digests (
  checkpoint INTEGER NOT NULL REFERENCES checkpoints (id),
  worker     INTEGER NOT NULL,
  digest     TEXT NOT NULL,
  tensors    BLOB NOT NULL,
  PRIMARY KEY (checkpoint, worker)
) STRICT, WITHOUT ROWID;

-- Some events of one worker, 16 bytes each (docs/CHECKPOINT.md). `first` counts the worker's events
-- over the whole run; chunks of an attempt are numbered in the order they were written.
CREATE TABLE event_chunks (
  attempt INTEGER NOT NULL REFERENCES attempts (id),
  chunk   INTEGER NOT NULL,
  worker  INTEGER NOT NULL,
  first   INTEGER NOT NULL,
  count   INTEGER NOT NULL,
  events  BLOB NOT NULL,
  PRIMARY KEY (attempt, chunk)
) STRICT;

CREATE TABLE verifications (
  id          INTEGER PRIMARY KEY,
  attempt     INTEGER NOT NULL REFERENCES attempts (id),
  time        TEXT NOT NULL,
  host        TEXT NOT NULL,
  equal       INTEGER NOT NULL,
  message     TEXT NOT NULL,
  checkpoint  INTEGER REFERENCES checkpoints (id),  -- started from; NULL: from the beginning
  environment TEXT NOT NULL                         -- JSON
) STRICT;
CREATE INDEX verifications_by_attempt ON verifications (attempt);

-- Views: these names and columns stay.

CREATE VIEW checkpoint_list AS
SELECT r.id AS run, a.number AS attempt, c.number AS checkpoint, c.step, c.gradients,
       c.normalised_time, c.seconds, c.bytes, c.path, c.sha256, c.file_bytes, c.created, c.removed,
       c.superseded
FROM checkpoints c JOIN attempts a ON a.id = c.attempt JOIN runs r ON r.number = a.run;

CREATE VIEW event_list AS
SELECT r.id AS run, a.number AS attempt, k.chunk, k.worker, k.first, k.count, k.events
FROM runs r
JOIN attempts a ON a.run = r.number
JOIN event_chunks k
  ON k.attempt = a.id AND (a.valid_until_chunk IS NULL OR k.chunk <= a.valid_until_chunk);

CREATE VIEW verification_list AS
SELECT r.id AS run, a.number AS attempt, v.time, v.host, v.equal, v.message,
       c.number AS checkpoint, v.environment
FROM verifications v
JOIN attempts a ON a.id = v.attempt
JOIN runs r ON r.number = a.run
LEFT JOIN checkpoints c ON c.id = v.checkpoint;

-- Views of version 1 that now know of attempts of which only a part counts.

DROP VIEW attempt_list;
CREATE VIEW attempt_list AS
SELECT r.id AS run, a.number AS attempt, coalesce(a.outcome, 'running') AS state, a.message,
       a.host, a.pid, a.started, a.heartbeat, a.ended AS finished,
       a.gradients, a.normalised_time, a.seconds, a.bytes,
       -- A run can be continued from a checkpoint before which nothing was measured.
       coalesce(a.valid_until_tick = 0, 0)
         AND NOT EXISTS (SELECT 1 FROM checkpoints k WHERE k.attempt = a.id AND k.superseded = 0)
         AS superseded,
       a.environment, c.number AS resumed_from, a.changed
FROM attempts a
JOIN runs r ON r.number = a.run
LEFT JOIN checkpoints c ON c.id = a.resumed_from;

DROP VIEW series_list;
CREATE VIEW series_list AS
SELECT r.id AS run, a.number AS attempt, s.metric, nullif(s.worker, -1) AS worker, s.unit,
       s.better, s.count, s.last, s.last_special, s.best, t.gradients AS best_gradients
FROM series s
-- Those without values of their own hold what the attempt before had last: see run_list.metrics.
JOIN attempts a ON a.id = s.attempt AND coalesce(a.valid_until_tick, 1) > 0 AND s.count > 0
JOIN runs r ON r.number = a.run
LEFT JOIN ticks t ON t.attempt = s.attempt AND t.tick = s.best_tick;
