// Reads fields of JSON from other people. Each function throws Error that names the place and the field.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace gcg::tools {

using OrderedJson = nlohmann::ordered_json;

/// An object in JSON, and its place for messages: "model.sig: dsseEnvelope".
struct JsonObject {
  OrderedJson value;
  std::string where;

  const OrderedJson& list(const char* field) const;
  std::string text(const char* field) const;
  bool flag(const char* field) const;
  JsonObject object(const char* field) const;
  /// An element of a list that list() returned.
  JsonObject element(const char* field, size_t number) const;
  bool has(const char* field) const { return value.contains(field); }

  /// Refuses the object unless the field is this text.
  void require(const char* field, std::string_view text) const;
  /// Refuses an object with other fields.
  void allow_only(std::initializer_list<std::string_view> fields) const;
};

/// Parses an object by the library's rules (check_json).
JsonObject read_object(std::string_view text, const std::string& source);

}  // namespace gcg::tools
