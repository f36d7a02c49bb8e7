// SQLite with errors as exceptions: a connection, prepared statements, transactions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace gart::store {

class Database;

/// A prepared statement. Parameters are bound in order, columns are read by their number.
class Query {
 public:
  Query(const Database& database, std::string_view sql);
  ~Query();
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  Query& bind(std::string_view text);
  Query& bind(int64_t number);
  /// The next row. False after the last one.
  bool next();
  /// Runs a statement that returns no rows.
  void run();
  std::string text(int column) const;
  int64_t number(int column) const;

 private:
  const Database& database_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

class Database {
 public:
  /// Opens the file, which is created if `creates`. Readers need no right to write.
  Database(const std::string& path, bool creates);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void run(const char* statements) const;
  [[noreturn]] void fail() const;
  sqlite3* handle() const { return handle_; }

 private:
  std::string path_;
  sqlite3* handle_ = nullptr;
};

/// Rolls back unless commit() was called.
class Transaction {
 public:
  /// `writes`: takes the lock of writers at once.
  Transaction(const Database& database, bool writes);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  const Database& database_;
  bool is_open_ = true;
};

}  // namespace gart::store
