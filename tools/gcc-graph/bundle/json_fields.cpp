#include "tools/gcc-graph/bundle/json_fields.h"

#include <algorithm>

#include "gcc_graph/json.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

const OrderedJson& field_of(const JsonObject& object, const char* field, bool (OrderedJson::*is)() const noexcept,
                            const char* kind) {
  const auto at = object.value.find(field);
  if (at == object.value.end()) fail(object.where, ": the field '", field, "' is missing");
  if (!((*at).*is)()) fail(object.where, ": the field '", field, "' is not ", kind);
  return *at;
}

/// At most 80 characters of a text from a file.
std::string excerpt(const std::string& text) {
  constexpr size_t kMost = 80;
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

}  // namespace

const OrderedJson& JsonObject::list(const char* field) const {
  return field_of(*this, field, &OrderedJson::is_array, "a list");
}

std::string JsonObject::text(const char* field) const {
  return field_of(*this, field, &OrderedJson::is_string, "a text").get<std::string>();
}

bool JsonObject::flag(const char* field) const {
  return field_of(*this, field, &OrderedJson::is_boolean, "true or false").get<bool>();
}

JsonObject JsonObject::object(const char* field) const {
  return {field_of(*this, field, &OrderedJson::is_object, "an object"), concat(where, ": ", field)};
}

JsonObject JsonObject::element(const char* field, size_t number) const {
  const std::string place = concat(where, ": ", field, "[", number, "]");
  if (!list(field).at(number).is_object()) fail(place, " is not an object");
  return {list(field).at(number), place};
}

void JsonObject::require(const char* field, std::string_view expected) const {
  const std::string found = text(field);
  if (found != expected) fail(where, ": ", field, " is '", excerpt(found), "', expected '", expected, "'");
}

void JsonObject::allow_only(std::initializer_list<std::string_view> fields) const {
  for (const auto& [name, unused] : value.items())
    if (std::ranges::count(fields, name) == 0) fail(where, ": the field '", excerpt(name), "' is not known");
}

JsonObject read_object(std::string_view text, const std::string& source) {
  gcc_graph::check_json(text, source);
  JsonObject out{OrderedJson::parse(text), source};
  if (!out.value.is_object()) fail(source, " is not a JSON object");
  return out;
}

}  // namespace gcg::tools
