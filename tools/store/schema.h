// The tables of a store's database. A change of them changes kFormat.
#pragma once

namespace gart::store {

inline constexpr int kApplication = 0x47535452;  // "GSTR": PRAGMA application_id
inline constexpr int kFormat = 2;                // PRAGMA user_version

/// The view `found` gives the file of each version to readers in other languages.
inline constexpr const char* kSchema = R"(
CREATE TABLE models (id TEXT PRIMARY KEY, next INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE versions (id TEXT NOT NULL REFERENCES models, version INTEGER NOT NULL, digest TEXT NOT NULL,
  bytes INTEGER NOT NULL, added TEXT NOT NULL, rows INTEGER NOT NULL, signature TEXT NOT NULL, PRIMARY KEY (id, version)) WITHOUT ROWID;
CREATE INDEX versions_by_digest ON versions (digest);
CREATE TABLE operations (id TEXT NOT NULL, version INTEGER NOT NULL, number INTEGER NOT NULL, entry TEXT NOT NULL,
  kind TEXT NOT NULL, PRIMARY KEY (id, version, number),
  FOREIGN KEY (id, version) REFERENCES versions ON DELETE CASCADE) WITHOUT ROWID;
CREATE TABLE groups (id TEXT NOT NULL, version INTEGER NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL,
  device TEXT NOT NULL, PRIMARY KEY (id, version, number),
  FOREIGN KEY (id, version) REFERENCES versions ON DELETE CASCADE) WITHOUT ROWID;
CREATE TABLE support (id TEXT NOT NULL, version INTEGER NOT NULL, number INTEGER NOT NULL, place INTEGER NOT NULL,
  device TEXT NOT NULL, PRIMARY KEY (id, version, number, place),
  FOREIGN KEY (id, version, number) REFERENCES groups ON DELETE CASCADE) WITHOUT ROWID;
CREATE VIEW found AS SELECT id, version, 'objects/' || digest AS file, digest, bytes FROM versions;
)";

}  // namespace gart::store
