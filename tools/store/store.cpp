#include "tools/store/store.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <limits>

#include "tools/store/files.h"
#include "tools/store/schema.h"
#include "tools/store/store_error.h"

namespace gart::store {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestId = 128;
constexpr size_t kSignatureBytes = 64;  // of Ed25519

std::string named(const Reference& model) {
  return "model '" + model.id + "'" + (model.version ? " version " + std::to_string(*model.version) : "");
}

void check_id(const std::string& id) {
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-'; };
  if (id.empty() || id.size() > kLongestId || std::isalnum(static_cast<unsigned char>(id[0])) == 0 ||
      !std::ranges::all_of(id, is_plain))
    refuse("'", id.substr(0, kLongestId), "' is not the id of a model: expected 1 to ", kLongestId,
           " letters, digits, '.', '_' or '-', the first a letter or a digit");
}

bool is_foreign(const fs::path& folder) {
  constexpr std::string_view kOwn[] = {"lock", "store.sqlite", "store.sqlite-journal", "objects", "incoming"};
  return std::ranges::any_of(fs::directory_iterator(folder), [&](const auto& entry) {
    return std::ranges::find(kOwn, entry.path().filename().string()) == std::end(kOwn);
  });
}

int64_t pragma(const Database& database, const char* sql) {
  Query query(database, sql);
  return query.next() ? query.number(0) : 0;
}

/// The bytes of a signature's file in hexadecimal digits.
std::string signature_in(const std::string& path) {
  static constexpr char kDigits[] = "0123456789abcdef";
  if (path.empty()) return "";
  const FileMap file(path);
  if (file.bytes().size() != kSignatureBytes)
    refuse(path, " has ", file.bytes().size(), " bytes: a signature has ", kSignatureBytes);
  std::string out;
  for (const uint8_t byte : file.bytes()) out += {kDigits[byte >> 4], kDigits[byte & 15]};
  return out;
}

}  // namespace

Reference parse_reference(const std::string& text) {
  const size_t at = text.find('@');
  Reference out = {text.substr(0, at), std::nullopt};
  check_id(out.id);
  if (at == std::string::npos) return out;
  int64_t version = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + at + 1, end, version);
  if (error != std::errc() || stop != end || version < 1)
    refuse("'", text.substr(at + 1, kLongestId), "' is not the version of a model: expected a number from 1 on");
  out.version = version;
  return out;
}

Store::Store(const std::string& folder, Access access) : folder_(folder) {
  std::error_code error;
  if (access == Access::write) {
    create();
  } else {
    if (!fs::is_regular_file(folder + "/store.sqlite", error))
      refuse(folder, " is not a store of models: it has no file store.sqlite");
    database_ = std::make_unique<Database>(folder + "/store.sqlite", false);
  }
  check_format();
}

void Store::create() {
  std::error_code error;
  fs::create_directory(folder_, error);
  if (!fs::is_directory(folder_)) refuse("cannot create the store ", folder_, ": ", error.message());
  if (!fs::exists(folder_ + "/store.sqlite") && is_foreign(folder_))
    refuse(folder_, " is not a store of models: it has other files and no store.sqlite");
  const FileLock lock(folder_ + "/lock");
  for (const char* name : {"/objects", "/incoming"}) {
    fs::create_directory(folder_ + name, error);
    if (error) refuse("cannot create ", folder_, name, ": ", error.message());
  }
  database_ = std::make_unique<Database>(folder_ + "/store.sqlite", true);
  Transaction transaction(*database_, true);
  if (pragma(*database_, "PRAGMA application_id") != 0 || pragma(*database_, "PRAGMA user_version") != 0 ||
      pragma(*database_, "SELECT count(*) FROM sqlite_schema") != 0)
    return;
  database_->run(kSchema);
  database_->run(("PRAGMA application_id = " + std::to_string(kApplication)).c_str());
  database_->run(("PRAGMA user_version = " + std::to_string(kFormat)).c_str());
  transaction.commit();
  sync_folder(folder_);
}

void Store::check_format() const {
  if (pragma(*database_, "PRAGMA application_id") != kApplication)
    refuse(folder_, "/store.sqlite is not the database of a store of models");
  if (const int64_t format = pragma(*database_, "PRAGMA user_version"); format != kFormat)
    refuse(folder_, "/store.sqlite has format ", format, "; this program knows format ", kFormat);
}

StoredVersion Store::add(const NewVersion& new_version) {
  Incoming copy(new_version.artifact, folder_ + "/incoming");
  const FileMap map(copy.path());
  StoredVersion version;
  version.id = new_version.model.id;
  version.facts = verified_facts(map.bytes(), new_version.artifact);
  if (new_version.rows > 1) check_joins_rows(map.bytes(), new_version.artifact);
  version.rows = new_version.rows;
  version.signature = signature_in(new_version.signature);
  version.digest = digest_text(map.bytes());
  version.bytes = static_cast<int64_t>(map.bytes().size());
  const FileLock lock(folder_ + "/lock");
  Transaction transaction(*database_, true);
  const std::vector<StoredVersion> before = new_version.replaces ? list(version.id) : std::vector<StoredVersion>();
  insert(version, new_version);
  place(version, copy);
  transaction.commit();
  for (const StoredVersion& old : before)
    if (!is_needed(old.digest)) fs::remove(path_of(old));
  return version;
}

/// Moves the copy to the version's path, unless a file with the same bytes is there. Replaces a damaged file.
void Store::place(const StoredVersion& version, Incoming& copy) const {
  const std::string path = path_of(version);
  if (fs::exists(path)) {
    const FileMap there(path), here(copy.path());
    if (std::ranges::equal(there.bytes(), here.bytes())) return;
    if (digest_text(there.bytes()) == version.digest)
      refuse(path, " has the digest of ", version.id, " but other bytes: the store cannot hold both");
  }
  copy.move_to(path);
  sync_folder(folder_ + "/objects");
}

void Store::insert(StoredVersion& version, const NewVersion& new_version) const {
  const std::string& id = version.id;
  Query(*database_, "INSERT INTO models VALUES (?, 1) ON CONFLICT DO NOTHING").bind(id).run();
  Query query(*database_, "SELECT next, datetime('now') FROM models WHERE id = ?");
  query.bind(id).next();
  const int64_t next = query.number(0);
  version.added = query.text(1);
  version.version = new_version.model.version.value_or(next);
  if (version.version == std::numeric_limits<int64_t>::max())
    refuse(named(new_version.model), ": no version may be higher");
  Query old(*database_, "SELECT 1 FROM versions WHERE id = ? AND version = ?");
  if (old.bind(id).bind(version.version).next()) {
    if (!new_version.replaces) refuse("the store has ", named({id, version.version}), "; --replace replaces it");
    Query(*database_, "DELETE FROM versions WHERE id = ? AND version = ?").bind(id).bind(version.version).run();
  }
  Query(*database_, "UPDATE models SET next = max(next, ?) WHERE id = ?").bind(version.version + 1).bind(id).run();
  Query(*database_, "INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?, ?)")
      .bind(id)
      .bind(version.version)
      .bind(version.digest)
      .bind(version.bytes)
      .bind(version.added)
      .bind(version.rows)
      .bind(version.signature)
      .run();
  insert_facts(version);
}

void Store::insert_facts(const StoredVersion& version) const {
  int64_t number = 0;
  for (const Operation& o : version.facts.operations) {
    Query row(*database_, "INSERT INTO operations VALUES (?, ?, ?, ?, ?)");
    row.bind(version.id).bind(version.version).bind(number++).bind(o.entry).bind(o.kind).run();
  }
  number = 0;
  for (const DeployedGroup& g : version.facts.groups) {
    Query row(*database_, "INSERT INTO groups VALUES (?, ?, ?, ?, ?)");
    row.bind(version.id).bind(version.version).bind(number).bind(g.name).bind(g.device).run();
    int64_t place = 0;
    for (const std::string& device : g.support) {
      Query one(*database_, "INSERT INTO support VALUES (?, ?, ?, ?, ?)");
      one.bind(version.id).bind(version.version).bind(number).bind(place++).bind(device).run();
    }
    ++number;
  }
}

int64_t Store::remove(const Reference& model) {
  const FileLock lock(folder_ + "/lock");
  Transaction transaction(*database_, true);
  std::vector<StoredVersion> gone;
  for (StoredVersion& v : list(model.id))
    if (!model.version || v.version == *model.version) gone.push_back(std::move(v));
  if (gone.empty()) refuse("the store has no ", named(model));
  for (const StoredVersion& v : gone)
    Query(*database_, "DELETE FROM versions WHERE id = ? AND version = ?").bind(v.id).bind(v.version).run();
  transaction.commit();
  for (const StoredVersion& v : gone)
    if (!is_needed(v.digest)) fs::remove(path_of(v));
  return static_cast<int64_t>(gone.size());
}

std::vector<StoredVersion> Store::list(const std::string& id) const {
  std::vector<StoredVersion> all;
  Query query(*database_,
              "SELECT id, version, digest, bytes, added, rows, signature FROM versions WHERE ? IN ('', id) ORDER BY "
              "id, version");
  query.bind(id);
  while (query.next()) {
    all.push_back({query.text(0),
                   query.number(1),
                   query.text(2),
                   query.number(3),
                   query.text(4),
                   query.number(5),
                   query.text(6),
                   {}});
    all.back().facts = facts_of(all.back().id, all.back().version);
  }
  return all;
}

ArtifactFacts Store::facts_of(const std::string& id, int64_t version) const {
  ArtifactFacts facts;
  Query operations(*database_, "SELECT entry, kind FROM operations WHERE id = ? AND version = ? ORDER BY number");
  operations.bind(id).bind(version);
  while (operations.next()) facts.operations.push_back({operations.text(0), operations.text(1)});
  Query groups(*database_, "SELECT name, device FROM groups WHERE id = ? AND version = ? ORDER BY number");
  groups.bind(id).bind(version);
  while (groups.next()) facts.groups.push_back({groups.text(0), groups.text(1), {}});
  Query support(*database_, "SELECT number, device FROM support WHERE id = ? AND version = ? ORDER BY number, place");
  support.bind(id).bind(version);
  while (support.next())
    if (const auto group = static_cast<size_t>(support.number(0)); group < facts.groups.size())
      facts.groups[group].support.push_back(support.text(1));
  return facts;
}

StoredVersion Store::find(const Reference& model) const {
  const Transaction snapshot(*database_, false);
  std::vector<StoredVersion> all = list(model.id);
  for (; !all.empty(); all.pop_back())
    if (!model.version || all.back().version == *model.version) return std::move(all.back());
  refuse("the store ", folder_, " has no ", named(model));
}

std::string Store::path_of(const StoredVersion& version) const { return folder_ + "/objects/" + version.digest; }

void Store::check(const StoredVersion& version) const {
  const FileMap file(path_of(version));
  if (static_cast<int64_t>(file.bytes().size()) != version.bytes || digest_text(file.bytes()) != version.digest)
    refuse(path_of(version), " was changed: it is not the file that was added as ", version.id, "@", version.version);
}

bool Store::is_needed(const std::string& digest) const {
  return Query(*database_, "SELECT 1 FROM versions WHERE digest = ?").bind(digest).next();
}

std::vector<std::string> Store::faults(bool cleans) {
  const FileLock lock(folder_ + "/lock");
  std::vector<std::string> faults;
  Query integrity(*database_, "PRAGMA integrity_check");
  while (integrity.next())
    if (integrity.text(0) != "ok") faults.push_back("store.sqlite: " + integrity.text(0));
  for (const StoredVersion& version : list()) try {
      check(version);
      const FileMap file(path_of(version));
      verified_facts(file.bytes(), version.id + "@" + std::to_string(version.version));
    } catch (const StoreError& error) {
      faults.emplace_back(error.what());
    }
  find_unneeded(cleans, faults);
  return faults;
}

void Store::find_unneeded(bool cleans, std::vector<std::string>& faults) const {
  for (const auto& entry : fs::directory_iterator(folder_ + "/objects")) {
    const std::string name = entry.path().filename();
    if (is_needed(name)) continue;
    if (cleans)
      fs::remove(entry.path());
    else
      faults.push_back("objects/" + name + ": no version needs this file; --clean removes it");
  }
  for (const std::string& name : clean_incoming(folder_ + "/incoming", cleans))
    if (!cleans) faults.push_back("incoming/" + name + ": its process died; --clean removes it");
}

}  // namespace gart::store
