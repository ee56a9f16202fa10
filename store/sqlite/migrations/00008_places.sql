-- +goose Up
-- How many anchors of the newest epoch stood before those of the newest round.
ALTER TABLE branches ADD COLUMN round INTEGER NOT NULL DEFAULT 0;
-- How many elements behind the summary the block of an epoch stands.
ALTER TABLE epochs ADD COLUMN place INTEGER NOT NULL DEFAULT 0;
