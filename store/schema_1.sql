-- Version 1 of the store. SCHEMA.md explains it to people who query it.
-- Times are UTC, ISO 8601 with milliseconds. A digest is SHA-256 in lower-case hexadecimal.

-- A compiled recipe. Asking for it again gives it a new number: the largest is the newest.
CREATE TABLE experiments (
  number        INTEGER PRIMARY KEY AUTOINCREMENT,
  id            TEXT NOT NULL UNIQUE,
  name          TEXT NOT NULL,
  recipe_path   TEXT NOT NULL,
  recipe_text   TEXT NOT NULL,
  recipe_digest TEXT NOT NULL,
  overrides     TEXT NOT NULL,  -- JSON list of KEY=VALUE
  command_line  TEXT NOT NULL,
  created       TEXT NOT NULL
) STRICT;
CREATE INDEX experiments_by_name ON experiments (name);

-- One algorithm at one setting with one seed. Its state is that of its newest attempt.
CREATE TABLE runs (
  number           INTEGER PRIMARY KEY,
  id               TEXT NOT NULL UNIQUE,
  digest           TEXT NOT NULL UNIQUE,
  group_digest     TEXT NOT NULL,
  algorithm        TEXT NOT NULL,
  seed             INTEGER NOT NULL,
  driver           TEXT NOT NULL,
  topology         TEXT NOT NULL,
  workers          INTEGER NOT NULL,
  budget_gradients INTEGER NOT NULL,
  settings         TEXT NOT NULL,  -- JSON
  plan             TEXT NOT NULL,  -- JSON
  created          TEXT NOT NULL
) STRICT;

CREATE TABLE experiment_runs (
  experiment INTEGER NOT NULL REFERENCES experiments (number) ON DELETE CASCADE,
  position   INTEGER NOT NULL,
  run        INTEGER NOT NULL REFERENCES runs (number),
  label      TEXT NOT NULL,
  PRIMARY KEY (experiment, position),
  UNIQUE (run, experiment)
) STRICT, WITHOUT ROWID;

-- One execution of a run. outcome is NULL until it has ended; a process that was killed leaves it
-- NULL, so whether such an attempt still goes on is decided by host, boot, process and heartbeat.
CREATE TABLE attempts (
  id               INTEGER PRIMARY KEY,
  run              INTEGER NOT NULL REFERENCES runs (number),
  number           INTEGER NOT NULL,
  host             TEXT NOT NULL,
  boot_id          TEXT NOT NULL,
  pid              INTEGER NOT NULL,
  process_start    INTEGER NOT NULL,  -- clock ticks after boot
  started          TEXT NOT NULL,
  heartbeat        TEXT NOT NULL,
  ended            TEXT,
  outcome          TEXT CHECK (outcome IN ('finished', 'failed', 'diverged', 'interrupted')),
  message          TEXT NOT NULL DEFAULT '',
  valid_until_tick INTEGER,           -- later ticks are superseded; NULL: none is
  gradients        INTEGER NOT NULL DEFAULT 0,
  normalised_time  REAL DEFAULT 0,
  seconds          REAL DEFAULT 0,
  bytes            INTEGER NOT NULL DEFAULT 0,
  environment      TEXT NOT NULL,     -- JSON
  seeds            TEXT NOT NULL,     -- JSON
  UNIQUE (run, number)
) STRICT;
CREATE INDEX attempts_open ON attempts (run) WHERE outcome IS NULL;

CREATE TABLE file_digests (
  attempt  INTEGER NOT NULL REFERENCES attempts (id),
  position INTEGER NOT NULL,
  path     TEXT NOT NULL,
  sha256   TEXT NOT NULL,
  PRIMARY KEY (attempt, position)
) STRICT, WITHOUT ROWID;

-- What an attempt left behind when it ended of its own accord.
CREATE TABLE results (
  attempt           INTEGER PRIMARY KEY REFERENCES attempts (id),
  mean_digest       TEXT NOT NULL,
  realised_rate     REAL,
  realised_chi1     REAL,
  realised_chi2     REAL,
  exchanges_drawn   INTEGER NOT NULL,
  exchanges_done    INTEGER NOT NULL,
  exchanges_waiting INTEGER NOT NULL
) STRICT;

CREATE TABLE worker_results (
  attempt      INTEGER NOT NULL REFERENCES attempts (id),
  worker       INTEGER NOT NULL,
  digest       TEXT,
  gradients    INTEGER,
  idle_seconds REAL,
  PRIMARY KEY (attempt, worker)
) STRICT, WITHOUT ROWID;

CREATE TABLE edges (
  attempt      INTEGER NOT NULL REFERENCES attempts (id),
  i            INTEGER NOT NULL,
  j            INTEGER NOT NULL,
  nominal_rate REAL,
  exchanges    INTEGER NOT NULL,
  PRIMARY KEY (attempt, i, j)
) STRICT, WITHOUT ROWID;

CREATE TABLE artifacts (
  attempt  INTEGER NOT NULL REFERENCES attempts (id),
  position INTEGER NOT NULL,
  role     TEXT NOT NULL,
  path     TEXT NOT NULL,  -- relative to the store's folder
  sha256   TEXT NOT NULL,
  bytes    INTEGER NOT NULL,
  PRIMARY KEY (attempt, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE log (
  id       INTEGER PRIMARY KEY,
  attempt  INTEGER NOT NULL REFERENCES attempts (id),
  time     TEXT NOT NULL,
  severity TEXT NOT NULL CHECK (severity IN ('info', 'warning', 'error')),
  text     TEXT NOT NULL
) STRICT;
CREATE INDEX log_by_attempt ON log (attempt);

-- Where an attempt stood each time something was measured, shared by all values measured then.
CREATE TABLE ticks (
  attempt         INTEGER NOT NULL REFERENCES attempts (id),
  tick            INTEGER NOT NULL,
  gradients       INTEGER NOT NULL,
  normalised_time REAL,
  seconds         REAL,
  bytes           INTEGER NOT NULL,
  PRIMARY KEY (attempt, tick)
) STRICT, WITHOUT ROWID;

-- special says what a REAL column cannot: 1 NaN (the value is NULL), 2 +infinity, 3 -infinity.
CREATE TABLE series (
  id           INTEGER PRIMARY KEY,
  attempt      INTEGER NOT NULL REFERENCES attempts (id),
  worker       INTEGER NOT NULL,  -- -1: the whole run
  metric       TEXT NOT NULL,
  unit         TEXT NOT NULL,
  better       INTEGER NOT NULL,  -- -1 lower, +1 higher, 0 neither
  count        INTEGER NOT NULL,
  last_tick    INTEGER NOT NULL,
  last         REAL,
  last_special INTEGER NOT NULL,
  best_tick    INTEGER,
  best         REAL,
  UNIQUE (attempt, worker, metric)
) STRICT;

CREATE TABLE points (
  series  INTEGER NOT NULL REFERENCES series (id),
  tick    INTEGER NOT NULL,
  value   REAL,
  special INTEGER NOT NULL,
  PRIMARY KEY (series, tick)
) STRICT, WITHOUT ROWID;

-- Views: these names and columns stay.

CREATE VIEW attempt_list AS
SELECT r.id AS run, a.number AS attempt, coalesce(a.outcome, 'running') AS state, a.message,
       a.host, a.pid, a.started, a.heartbeat, a.ended AS finished,
       a.gradients, a.normalised_time, a.seconds, a.bytes,
       coalesce(a.valid_until_tick = 0, 0) AS superseded, a.environment
FROM attempts a JOIN runs r ON r.number = a.run;

CREATE VIEW run_list AS
SELECT r.id, e.id AS experiment, e.name AS experiment_name, r.algorithm,
       coalesce(m.label, r.algorithm) AS label, r.seed, r.digest, r.group_digest,
       CASE WHEN a.id IS NULL THEN 'planned' ELSE coalesce(a.outcome, 'running') END AS state,
       coalesce(a.message, '') AS message, r.driver, r.topology, r.workers, r.created,
       a.number AS attempts, a.started, a.ended AS finished, a.heartbeat, r.budget_gradients,
       a.gradients, a.normalised_time, a.seconds, a.bytes, r.settings, r.plan,
       -- Text, not json_group_object(): acid does not trust schemas, and then no view may use it.
       (SELECT '{' || coalesce(group_concat('"' || s.metric || '":' || s.last), '') || '}'
        FROM series s
        WHERE s.attempt = a.id AND s.worker = -1 AND s.last_special = 0) AS metrics
FROM runs r
LEFT JOIN attempts a
  ON a.run = r.number AND a.number = (SELECT max(number) FROM attempts WHERE run = r.number)
LEFT JOIN experiment_runs m
  ON m.run = r.number
 AND m.experiment = (SELECT max(experiment) FROM experiment_runs WHERE run = r.number)
LEFT JOIN experiments e ON e.number = m.experiment;

CREATE VIEW experiment_list AS
SELECT e.id AS experiment, e.name, e.created, e.recipe_path, e.recipe_text, e.recipe_digest,
       e.overrides, e.command_line, m.position, r.id AS run, m.label
FROM experiments e
JOIN experiment_runs m ON m.experiment = e.number
JOIN runs r ON r.number = m.run;

CREATE VIEW series_list AS
SELECT r.id AS run, a.number AS attempt, s.metric, nullif(s.worker, -1) AS worker, s.unit,
       s.better, s.count, s.last, s.last_special, s.best, t.gradients AS best_gradients
FROM series s
JOIN attempts a ON a.id = s.attempt AND a.valid_until_tick IS NULL
JOIN runs r ON r.number = a.run
LEFT JOIN ticks t ON t.attempt = s.attempt AND t.tick = s.best_tick;

CREATE VIEW points_view AS
SELECT r.id AS run, a.number AS attempt, s.metric, nullif(s.worker, -1) AS worker, s.unit,
       t.gradients, t.normalised_time, t.seconds, t.bytes, p.value, p.special
FROM runs r
JOIN attempts a ON a.run = r.number
JOIN series s ON s.attempt = a.id
JOIN points p ON p.series = s.id AND (a.valid_until_tick IS NULL OR p.tick <= a.valid_until_tick)
JOIN ticks t ON t.attempt = s.attempt AND t.tick = p.tick;

CREATE VIEW edge_list AS
SELECT r.id AS run, a.number AS attempt, g.i, g.j, g.nominal_rate, g.exchanges,
       g.exchanges / nullif(a.normalised_time, 0) AS realised_rate
FROM edges g JOIN attempts a ON a.id = g.attempt JOIN runs r ON r.number = a.run;

-- value is text: a derived seed has 64 bits without a sign, more than SQLite's integers hold.
-- Where schemas are not trusted this view is refused, for its JSON functions; read attempts.seeds.
CREATE VIEW seed_list AS
SELECT r.id AS run, a.number AS attempt,
       iif(typeof(j.key) = 'integer', trim(replace(j.path, '$.workers.', ''), '"'), j.key)
         AS stream,
       iif(typeof(j.key) = 'integer', j.key, NULL) AS worker,
       a.seeds -> j.fullkey AS value
FROM attempts a JOIN runs r ON r.number = a.run, json_tree(a.seeds) j
WHERE j.atom IS NOT NULL;

CREATE VIEW digest_list AS
SELECT r.id AS run, a.number AS attempt, w.worker, w.digest
FROM worker_results w JOIN attempts a ON a.id = w.attempt JOIN runs r ON r.number = a.run
WHERE w.digest IS NOT NULL
UNION ALL
SELECT r.id, a.number, NULL, x.mean_digest
FROM results x JOIN attempts a ON a.id = x.attempt JOIN runs r ON r.number = a.run
WHERE x.mean_digest <> '';

CREATE VIEW log_list AS
SELECT r.id AS run, a.number AS attempt, l.time, l.severity, l.text
FROM log l JOIN attempts a ON a.id = l.attempt JOIN runs r ON r.number = a.run;
