#include "tools/serve/completion_request.h"

#include <limits>
#include <random>
#include <set>

#include "tools/serve/json_elements.h"
#include "tools/serve/refusal.h"

namespace gcg::serve {
namespace {

using nlohmann::json;

constexpr size_t kMostStops = 16;
constexpr int64_t kMostTokens = int64_t{1} << 31;
constexpr int64_t kDefaultCompletionTokens = 16;  // OpenAI's default, without a chat

template <class... Parts>
[[noreturn]] void refuse_member(const std::string& name, const Parts&... parts) {
  std::ostringstream out;
  out << "'" << name << "' ";
  (out << ... << parts);
  throw Refusal(400, out.str(), name);
}

std::string shown(const json& value) {
  const std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() <= 60 ? text : text.substr(0, 57) + "...";
}

/// The members of a request. Each one is taken once; the rest is refused.
class Members {
 public:
  explicit Members(const json& object) : object_(object) {}

  /// Null if the member is missing.
  const json& take(const char* name) {
    static const json nothing;
    known_.insert(name);
    const auto found = object_.find(name);
    return found == object_.end() ? nothing : *found;
  }
  std::optional<double> number(const char* name, double least, double most) {
    const json& value = take(name);
    if (value.is_null()) return std::nullopt;
    if (!value.is_number() || !(value.get<double>() >= least && value.get<double>() <= most))
      refuse_member(name, "is ", shown(value), "; expected a number from ", least, " to ", most);
    return value.get<double>();
  }
  std::optional<int64_t> integer(const char* name, int64_t least, int64_t most) {
    const json& value = take(name);
    if (value.is_null()) return std::nullopt;
    const bool fits = value.is_number_integer() && (!value.is_number_unsigned() || value.get<uint64_t>() <= INT64_MAX);
    if (!fits || value.get<int64_t>() < least || value.get<int64_t>() > most)
      refuse_member(name, "is ", shown(value), "; expected an integer from ", least, " to ", most);
    return value.get<int64_t>();
  }
  bool flag(const char* name) {
    const json& value = take(name);
    if (!value.is_null() && !value.is_boolean()) refuse_member(name, "is ", shown(value), "; expected true or false");
    return value == true;
  }
  std::string text(const char* name) {
    const json& value = take(name);
    if (!value.is_null() && !value.is_string()) refuse_member(name, "is ", shown(value), "; expected a text");
    return value.is_null() ? "" : value.get<std::string>();
  }
  /// A parameter that may only ask for the usual behaviour.
  void only(const char* name, std::initializer_list<json> usual) {
    const json& value = take(name);
    if (value.is_null()) return;
    for (const json& one : usual)
      if (value == one) return;
    refuse_member(name, "is ", shown(value), ", which this server does not support; expected ",
                  usual.size() == 0 ? "nothing" : shown(*usual.begin()));
  }
  void refuse_others() const {
    for (const auto& [name, value] : object_.items())
      if (!known_.contains(name) && !value.is_null())
        refuse_member(name.substr(0, 60), "is not a parameter that this server supports");
  }

 private:
  const json& object_;
  std::set<std::string> known_;
};

void refuse_unusual(Members& members, bool is_chat) {
  members.only("n", {1});
  members.only("presence_penalty", {0});
  members.only("frequency_penalty", {0});
  members.only("logit_bias", {json::object()});
  if (!is_chat) {
    members.only("best_of", {1});
    members.only("echo", {false});
    members.only("suffix", {""});
    members.only("logprobs", {});
    return;
  }
  members.only("logprobs", {false});
  members.only("top_logprobs", {0});
  members.only("tools", {json::array()});
  members.only("tool_choice", {"none", "auto"});
  members.only("parallel_tool_calls", {true, false});
  members.only("response_format", {json::object({{"type", "text"}})});
  members.only("modalities", {json::array({"text"})});
  members.only("store", {false});
  members.only("service_tier", {"auto", "default"});
}

void read_sampling(Members& members, gart::GenerateOptions& options) {
  options.temperature = static_cast<float>(members.number("temperature", 0, 2).value_or(1));
  options.top_p = static_cast<float>(members.number("top_p", 0, 1).value_or(1));
  if (options.top_p == 0) options.top_p = std::numeric_limits<float>::min();  // the most likely token
  options.top_k = members.integer("top_k", 0, kMostTokens).value_or(0);
  options.min_p = static_cast<float>(members.number("min_p", 0, 1).value_or(0));
  const auto seed = members.integer("seed", INT64_MIN, INT64_MAX);
  std::random_device random;
  options.seed = seed ? static_cast<uint64_t>(*seed) : uint64_t{random()} << 32 | random();
}

std::vector<std::string> read_stops(const json& given) {
  std::vector<std::string> stops;
  if (given.is_null()) return stops;
  if (given.is_array() && given.size() > kMostStops)
    refuse_member("stop", "has ", given.size(), " texts; at most ", kMostStops, " are supported");
  const json& all = given;
  for (const json& stop : all.is_array() ? all : json::array({all})) {
    if (!stop.is_string() || stop.get<std::string>().empty())
      refuse_member("stop", "has ", shown(stop), "; expected texts that are not empty");
    stops.push_back(stop.get<std::string>());
  }
  return stops;
}

void read_prompt(CompletionRequest& request, const json& given) {
  const bool is_list = given.is_array() && !given.empty();
  if (is_list && (given[0].is_string() || given[0].is_array())) {
    if (given.size() != 1) refuse_member("prompt", "has ", given.size(), " prompts; expected one");
    return read_prompt(request, given[0]);
  }
  if (given.is_string()) {
    request.prompt = given.get<std::string>();
    return;
  }
  if (!is_list) refuse_member("prompt", "is ", shown(given), "; expected a text or a list of token ids");
  for (const json& id : given) {
    if (!id.is_number_integer() || id.get<int64_t>() < 0)
      refuse_member("prompt", "has the token id ", shown(id), "; expected integers from 0");
    request.ids.push_back(id.get<int64_t>());
  }
}

/// A content is a text, or a list of parts with texts.
std::string content_of(const json& content, const std::string& where) {
  if (content.is_string()) return content.get<std::string>();
  std::string all;
  if (!content.is_array()) refuse_member(where, "is ", shown(content), "; expected a text");
  for (const json& part : content) {
    if (!part.is_object() || part.value("type", json()) != "text" || !part.contains("text") ||
        !part["text"].is_string())
      refuse_member(where, "has a part ", shown(part), "; this server reads only parts with the type text");
    all += part["text"].get<std::string>();
  }
  return all;
}

tools::ChatMessage read_message(const json& given, const std::string& where) {
  static const std::set<std::string> kRoles = {"system", "developer", "user", "assistant", "tool"};
  if (!given.is_object()) refuse_member(where, "is ", shown(given), "; expected an object");
  Members members(given);
  const std::string role = members.take("role").is_string() ? given["role"].get<std::string>() : "";
  if (!kRoles.contains(role)) refuse_member(where + ".role", "is not one of system, developer, user, assistant, tool");
  // OpenAI's newer name for the system; templates know the older one.
  const tools::ChatMessage message = {role == "developer" ? "system" : role,
                                      content_of(members.take("content"), where + ".content")};
  for (const auto& [name, value] : given.items())
    if (name != "role" && name != "content" && !value.is_null())
      refuse_member(where + "." + name.substr(0, 60), "is not a member that this server supports");
  return message;
}

void read_messages(CompletionRequest& request, const json& given) {
  if (!given.is_array() || given.empty())
    refuse_member("messages", "is ", shown(given), "; expected a list of messages");
  for (size_t i = 0; i < given.size(); ++i)
    request.messages.push_back(read_message(given[i], "messages[" + std::to_string(i) + "]"));
}

void read_stream_options(CompletionRequest& request, const json& given) {
  if (given.is_null()) return;
  if (!request.streams) refuse_member("stream_options", "needs 'stream'");
  if (!given.is_object()) refuse_member("stream_options", "is ", shown(given), "; expected an object");
  Members members(given);
  request.includes_usage = members.flag("include_usage");
  members.only("include_obfuscation", {false});
  members.refuse_others();
}

}  // namespace

CompletionRequest parse_completion(const std::string& body, bool is_chat) {
  const json document = parse_json(body);
  if (!document.is_object()) refuse(400, "the request is not an object");
  Members members(document);
  CompletionRequest request;
  request.is_chat = is_chat;
  request.model = members.text("model");
  if (request.model.empty()) refuse_member("model", "is missing; expected the id of a model");
  if (is_chat)
    read_messages(request, members.take("messages"));
  else
    read_prompt(request, members.take("prompt"));
  request.max_tokens = members.integer("max_tokens", 1, kMostTokens);
  if (is_chat) {
    const auto other = members.integer("max_completion_tokens", 1, kMostTokens);
    if (other && request.max_tokens && other != request.max_tokens)
      refuse_member("max_completion_tokens", "differs from 'max_tokens', which has the same meaning");
    if (other) request.max_tokens = other;
  } else if (!request.max_tokens) {
    request.max_tokens = kDefaultCompletionTokens;
  }
  read_sampling(members, request.options);
  request.stops = read_stops(members.take("stop"));
  request.streams = members.flag("stream");
  read_stream_options(request, members.take("stream_options"));
  request.user = members.text("user");
  refuse_unusual(members, is_chat);
  members.refuse_others();
  return request;
}

}  // namespace gcg::serve
