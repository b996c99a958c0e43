-- Version 9: what an ended run left, and which experiments and runs there are, can be told from what
-- somebody has changed since, verified or not. From here on every row that has ended has a seal, and
-- seals are of the columns one by one (seals.cpp); those of before are looked at and written anew
-- when a store comes to this version (earlier_seals.cpp).

-- JSON: by part of what the run had left when this attempt, its newest, ended, SHA-256 (proof.cpp).
ALTER TABLE attempts ADD COLUMN seal TEXT;

-- A digest of which experiments and runs there are, and which run belongs to which.
CREATE TABLE store_seal (
  one  INTEGER PRIMARY KEY CHECK (one = 1),
  seal TEXT NOT NULL
) STRICT;
