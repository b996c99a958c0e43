-- Version 9: digests tell what an ended run left, and which experiments and runs there are, from
-- later changes, verified or not. From here on every row that has ended has a seal, and seals are of
-- the columns one by one (seals.cpp); older seals are checked and written anew when a store is
-- migrated to this version (earlier_seals.cpp).

-- JSON: by part of what the run had left when this attempt, its newest, ended, SHA-256 (proof.cpp).
ALTER TABLE attempts ADD COLUMN seal TEXT;

-- A digest of which experiments and runs there are, and which run belongs to which.
CREATE TABLE store_seal (
  one  INTEGER PRIMARY KEY CHECK (one = 1),
  seal TEXT NOT NULL
) STRICT;
