-- Version 5: digests tell what was verified, and what lists and reports print, from later
-- changes. SHA-256 each; NULL: written by an earlier acid.

-- A digest of what the run's attempts had left when they were verified (proof.cpp).
ALTER TABLE verifications ADD COLUMN proof TEXT;
-- A digest of the other columns of the row, without dates (seals.cpp).
ALTER TABLE experiments ADD COLUMN seal TEXT;
ALTER TABLE experiment_runs ADD COLUMN seal TEXT;
ALTER TABLE runs ADD COLUMN seal TEXT;

-- Views: these names and columns stay.

DROP VIEW verification_list;
CREATE VIEW verification_list AS
SELECT r.id AS run, a.number AS attempt, v.time, v.host, v.equal, v.message,
       c.number AS checkpoint, v.environment, v.proof
FROM verifications v
JOIN attempts a ON a.id = v.attempt
JOIN runs r ON r.number = a.run
LEFT JOIN checkpoints c ON c.id = v.checkpoint;
