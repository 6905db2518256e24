"""The tables of a store as upgrade steps: a new store takes all steps, an older one those it lacks.

The store keeps the id of a report, and until its epoch closes 8 bytes of a digest of its payload. There are no times
and no addresses of reports, only how many came in each epoch. Tables are keyed by what is random, so that no row number
keeps the order of arrival.
"""

from __future__ import annotations

# BYTES and KEYED stand for the words of each database.
STEPS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE studies (number BIGINT PRIMARY KEY, name TEXT NOT NULL UNIQUE, source BYTES NOT NULL,"
        " protocol BYTES NOT NULL, state TEXT NOT NULL, round BIGINT NOT NULL, reports BIGINT NOT NULL,"
        " checksum BYTES NOT NULL, closed_epoch BIGINT NOT NULL)",
        "CREATE TABLE rounds (study BIGINT, round BIGINT, manifest BYTES NOT NULL, PRIMARY KEY (study, round)) KEYED",
        "CREATE TABLE arms (study BIGINT, round BIGINT, arm BIGINT, reports BIGINT NOT NULL,"
        " PRIMARY KEY (study, round, arm)) KEYED",
        "CREATE TABLE cells (study BIGINT, round BIGINT, arm BIGINT, block BIGINT, counts BYTES NOT NULL,"
        " PRIMARY KEY (study, round, arm, block)) KEYED",
        "CREATE TABLE reports (study BIGINT, id BYTES, epoch BIGINT, digest BIGINT, PRIMARY KEY (study, id)) KEYED",
        "CREATE TABLE outcomes (study BIGINT, code TEXT, count BIGINT NOT NULL, PRIMARY KEY (study, code)) KEYED",
        "CREATE TABLE acts (number BIGINT PRIMARY KEY, entry TEXT NOT NULL, hash BYTES NOT NULL)",
    ),
    (
        "CREATE TABLE invitations (study BIGINT, hash BYTES, PRIMARY KEY (study, hash)) KEYED",
        "CREATE TABLE spent (study BIGINT, hash BYTES, PRIMARY KEY (study, hash)) KEYED",
        "CREATE TABLE tokens (hash BYTES PRIMARY KEY, name TEXT NOT NULL UNIQUE, scopes TEXT NOT NULL)",
        "CREATE TABLE requests (hash BYTES PRIMARY KEY, digest BYTES NOT NULL, answer BYTES NOT NULL)",
    ),
    (
        # A row of `spent` was written together with the report that used it. Where a database keeps rows in the order
        # of commits, or the number of their transaction (ctid and xmin of PostgreSQL), the two could be joined. Now all
        # invitations are written when they are made, and one that is used is only deleted from those that are left.
        "CREATE TABLE issued (study BIGINT, hash BYTES, PRIMARY KEY (study, hash)) KEYED",
        "INSERT INTO issued (study, hash) SELECT study, hash FROM invitations UNION SELECT study, hash FROM spent"
        " ORDER BY 1, 2",
        "DROP TABLE spent",
    ),
    (
        # How many counted ids begin with each byte: 256 numbers, the signs of ids that were not drawn at random.
        "CREATE TABLE first_bytes (study BIGINT PRIMARY KEY, counts BYTES NOT NULL)",
    ),
    (
        # Counts by the epoch in which a question is asked; all that was counted before was asked in epoch 0. The epoch
        # of `reports` is another one: the days in which a report came.
        "CREATE TABLE arms_by_epoch (study BIGINT, round BIGINT, epoch BIGINT, arm BIGINT, reports BIGINT NOT NULL,"
        " PRIMARY KEY (study, round, epoch, arm)) KEYED",
        "INSERT INTO arms_by_epoch (study, round, epoch, arm, reports) SELECT study, round, 0, arm, reports FROM arms"
        " ORDER BY 1, 2, 4",
        "DROP TABLE arms",
        "ALTER TABLE arms_by_epoch RENAME TO arms",
        "CREATE TABLE cells_by_epoch (study BIGINT, round BIGINT, epoch BIGINT, arm BIGINT, block BIGINT,"
        " counts BYTES NOT NULL, PRIMARY KEY (study, round, epoch, arm, block)) KEYED",
        "INSERT INTO cells_by_epoch (study, round, epoch, arm, block, counts)"
        " SELECT study, round, 0, arm, block, counts FROM cells ORDER BY 1, 2, 4, 5",
        "DROP TABLE cells",
        "ALTER TABLE cells_by_epoch RENAME TO cells",
    ),
    (
        # The epoch in which a study's questions are asked now: its reports are counted there.
        "ALTER TABLE studies ADD COLUMN epoch BIGINT NOT NULL DEFAULT 0",
    ),
    (
        # How many reports came in each epoch: a number for the dashboard, which names no report.
        "CREATE TABLE arrivals (study BIGINT, epoch BIGINT, reports BIGINT NOT NULL, PRIMARY KEY (study, epoch)) KEYED",
    ),
)
FIRST_BYTES = 4  # the step after which they are counted once from the ids that are stored
VERSION = len(STEPS)

# Every table with its columns, in an order in which they can be copied; the key columns come first.
TABLES: dict[str, tuple[str, ...]] = {
    "studies": (
        *("number", "name", "source", "protocol", "state"),
        *("round", "reports", "checksum", "closed_epoch", "epoch"),
    ),
    "rounds": ("study", "round", "manifest"),
    "arms": ("study", "round", "epoch", "arm", "reports"),
    "cells": ("study", "round", "epoch", "arm", "block", "counts"),
    "reports": ("study", "id", "epoch", "digest"),
    "outcomes": ("study", "code", "count"),
    "acts": ("number", "entry", "hash"),
    "invitations": ("study", "hash"),
    "issued": ("study", "hash"),
    "tokens": ("hash", "name", "scopes"),
    "requests": ("hash", "digest", "answer"),
    "first_bytes": ("study", "counts"),
    "arrivals": ("study", "epoch", "reports"),
}
