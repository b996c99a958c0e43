-- Version 4: what a run against the clock was too late for, and views of what attempts leave behind.

-- How many samples this attempt skipped; NULL: not counted.
ALTER TABLE results ADD COLUMN samples_skipped INTEGER;
ALTER TABLE results ADD COLUMN evaluations_skipped INTEGER;
ALTER TABLE results ADD COLUMN checkpoints_skipped INTEGER;

-- Up to here the eight bytes of each tensor were kept in reverse.
UPDATE cut_digests SET tensors = (
  WITH RECURSIVE turned (place, bytes) AS (
    SELECT 1, CAST('' AS BLOB)
    UNION ALL
    SELECT place + 8,
           CAST(bytes || substr(tensors, place + 7, 1) || substr(tensors, place + 6, 1)
                      || substr(tensors, place + 5, 1) || substr(tensors, place + 4, 1)
                      || substr(tensors, place + 3, 1) || substr(tensors, place + 2, 1)
                      || substr(tensors, place + 1, 1) || substr(tensors, place, 1) AS BLOB)
    FROM turned WHERE place < length(tensors))
  SELECT bytes FROM turned WHERE length(bytes) = length(tensors));

-- Each worker's own loss on its own data is no outcome: it has no better direction any more.
UPDATE series SET better = 0, best = NULL, best_tick = NULL WHERE metric = 'train_loss';

-- Views: these names and columns stay.

CREATE VIEW result_list AS
SELECT r.id AS run, a.number AS attempt, x.mean_digest, x.realised_rate, x.realised_chi1,
       x.realised_chi2, x.exchanges_drawn, x.exchanges_done, x.exchanges_waiting,
       x.samples_skipped, x.evaluations_skipped, x.checkpoints_skipped
FROM results x JOIN attempts a ON a.id = x.attempt JOIN runs r ON r.number = a.run;

CREATE VIEW worker_result_list AS
SELECT r.id AS run, a.number AS attempt, w.worker, w.digest, w.gradients, w.idle_seconds
FROM worker_results w JOIN attempts a ON a.id = w.attempt JOIN runs r ON r.number = a.run;

CREATE VIEW span_list AS
SELECT r.id AS run, a.number AS attempt, s.worker, s.spans
FROM worker_spans s JOIN attempts a ON a.id = s.attempt JOIN runs r ON r.number = a.run;

CREATE VIEW artifact_list AS
SELECT r.id AS run, a.number AS attempt, f.role, f.path, f.sha256, f.bytes
FROM artifacts f JOIN attempts a ON a.id = f.attempt JOIN runs r ON r.number = a.run;

CREATE VIEW file_list AS
SELECT r.id AS run, a.number AS attempt, f.path, f.sha256
FROM file_digests f JOIN attempts a ON a.id = f.attempt JOIN runs r ON r.number = a.run;

CREATE VIEW cut_digest_list AS
SELECT r.id AS run, a.number AS attempt, c.number AS checkpoint, d.worker, d.digest, d.tensors
FROM cut_digests d
JOIN checkpoints c ON c.id = d.checkpoint
JOIN attempts a ON a.id = c.attempt
JOIN runs r ON r.number = a.run;
