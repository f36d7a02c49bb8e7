#include "compiler/support/json.h"

#include <algorithm>
#include <set>
#include <vector>

#include "compiler/support/error.h"

namespace gcg {
namespace {

/// "line 3, column 7" of the byte before `end`.
std::string position(std::string_view text, size_t end) {
  const size_t at = std::min(end == 0 ? 0 : end - 1, text.size());
  const std::string_view before = text.substr(0, at);
  const size_t newline = before.rfind('\n');
  return concat("line ", 1 + std::count(before.begin(), before.end(), '\n'), ", column ",
                at - (newline == std::string_view::npos ? 0 : newline + 1) + 1);
}

/// Checks JSON while it is parsed. Open objects keep the names of their fields, to find duplicates.
class Watch {
 public:
  explicit Watch(const std::string& source) : source_(source) {}

  bool operator()(int depth, Json::parse_event_t event, Json& value) {
    const bool opens = event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
    if (opens && depth >= kMaxJsonDepth)
      fail(source_, ": lists and objects are nested more than ", kMaxJsonDepth, " deep");
    if (event == Json::parse_event_t::object_start) fields_.emplace_back();
    if (event == Json::parse_event_t::object_end) fields_.pop_back();
    if (event == Json::parse_event_t::key && !fields_.back().insert(value.get<std::string>()).second)
      fail(source_, ": an object has the field '", value.get<std::string>(), "' twice");
    return true;
  }

 private:
  const std::string& source_;
  std::vector<std::set<std::string>> fields_;
};

/// Appends the text of `json` and stops once `out` is longer than `most`.
void append(const Json& json, size_t most, std::string& out) {
  if (!json.is_structured()) {
    const bool is_long = json.is_string() && json.get_ref<const std::string&>().size() > most;
    out += json_text(is_long ? Json(json.get_ref<const std::string&>().substr(0, most)) : json, -1);
    return;
  }
  out += json.is_object() ? '{' : '[';
  const char* before = "";
  for (auto item = json.begin(); item != json.end() && out.size() <= most; ++item, before = ",") {
    out += before;
    if (json.is_object()) append(item.key(), most, out), out += ':';
    append(*item, most, out);
  }
  out += json.is_object() ? '}' : ']';
}

}  // namespace

Json parse_json(std::string_view text, const std::string& source) {
  if (text.size() > kMaxJsonBytes) fail(source, ": it has ", text.size(), " bytes; the limit is ", kMaxJsonBytes);
  try {
    Watch watch(source);
    return Json::parse(text,
                       [&](int depth, Json::parse_event_t event, Json& value) { return watch(depth, event, value); });
  } catch (const Json::parse_error& error) {
    fail(source, ": ", position(text, error.byte), ": this is not JSON");
  } catch (const Json::out_of_range&) {
    fail(source, ": a number is too large");
  }
}

std::string json_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string json_excerpt(const Json& json) {
  constexpr size_t kMost = 40;
  std::string text;
  append(json, kMost, text);
  return text.size() <= kMost ? text : text.substr(0, kMost - 3) + "...";
}

}  // namespace gcg
