#include "tools/store/database.h"

#include <sqlite3.h>

#include "tools/store/store_error.h"

namespace gart::store {
namespace {

constexpr int kBusyMilliseconds = 30'000;

}  // namespace

Query::Query(const Database& database, std::string_view sql) : database_(database) {
  if (sqlite3_prepare_v2(database.handle(), sql.data(), static_cast<int>(sql.size()), &statement_, nullptr) !=
      SQLITE_OK)
    database.fail();
}

Query::~Query() { sqlite3_finalize(statement_); }

Query& Query::bind(std::string_view text) {
  if (sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT) !=
      SQLITE_OK)
    database_.fail();
  return *this;
}

Query& Query::bind(int64_t number) {
  if (sqlite3_bind_int64(statement_, ++bound_, number) != SQLITE_OK) database_.fail();
  return *this;
}

bool Query::next() {
  const int result = sqlite3_step(statement_);
  if (result != SQLITE_ROW && result != SQLITE_DONE) database_.fail();
  return result == SQLITE_ROW;
}

void Query::run() {
  while (next()) {
  }
}

std::string Query::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return text == nullptr ? "" : std::string(text, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
}

int64_t Query::number(int column) const { return sqlite3_column_int64(statement_, column); }

Database::Database(const std::string& path, bool creates) : path_(path) {
  const int mode = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (creates ? SQLITE_OPEN_CREATE : 0);
  // If the file is not writable, SQLite opens it for reading only.
  if (sqlite3_open_v2(path.c_str(), &handle_, mode, nullptr) != SQLITE_OK) {
    const std::string reason = handle_ == nullptr ? "not enough memory" : sqlite3_errmsg(handle_);
    sqlite3_close(handle_);
    refuse("cannot open ", path, ": ", reason);
  }
  sqlite3_busy_timeout(handle_, kBusyMilliseconds);
  try {
    run("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = "
        "ON");
  } catch (...) {
    sqlite3_close(handle_);
    throw;
  }
}

Database::~Database() { sqlite3_close(handle_); }

void Database::run(const char* statements) const {
  if (sqlite3_exec(handle_, statements, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

void Database::fail() const { refuse(path_, ": ", sqlite3_errmsg(handle_)); }

Transaction::Transaction(const Database& database, bool writes) : database_(database) {
  database.run(writes ? "BEGIN IMMEDIATE" : "BEGIN");
}

Transaction::~Transaction() {
  if (is_open_) sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  database_.run("COMMIT");
  is_open_ = false;
}

}  // namespace gart::store
