#include "tools/serve/protocol.h"

#include <map>
#include <new>
#include <vector>

#include "tools/serve/compression.h"
#include "tools/serve/json_elements.h"
#include "tools/serve/log.h"
#include "tools/serve/model_json.h"
#include "tools/serve/refusal.h"
#include "tools/store/store.h"

namespace gcg::serve {
namespace {

constexpr size_t kSmallestCompressed = 1024;  // bytes of a reply

/// "%2F" becomes "/". Throws Refusal.
std::string decoded(std::string_view text) {
  const auto digit = [&](char c) {
    const size_t at = std::string_view("0123456789abcdef").find(static_cast<char>(c | 0x20));
    if (at == std::string_view::npos) refuse(400, "the path has a % without two hexadecimal digits");
    return static_cast<unsigned>(at);
  };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) refuse(400, "the path has a % without two hexadecimal digits");
    out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
    i += 2;
  }
  return out;
}

std::vector<std::string> path_of(std::string_view target) {
  target = target.substr(0, target.find('?'));
  std::vector<std::string> parts;
  while (!target.empty()) {
    const size_t slash = std::min(target.find('/'), target.size());
    if (slash > 0) parts.push_back(decoded(target.substr(0, slash)));
    target.remove_prefix(std::min(slash + 1, target.size()));
  }
  return parts;
}

HttpReply json_reply(std::string body) {
  HttpReply reply;
  reply.body = std::move(body);
  return reply;
}

/// Takes the same time for every wrong token of the same length, so that timing reveals nothing.
bool is_equal(std::string_view a, std::string_view b) {
  unsigned different = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) different |= static_cast<unsigned char>(a[i] ^ b[i]);
  return different == 0;
}

}  // namespace

/// A request on its way to the function that answers it.
struct Protocol::Call {
  HttpRequest request;
  Answer answer;
  std::vector<std::string> path;  // without "v2"; set from route_v2 on
  std::string id, version;        // in route_model and behind

  bool is(std::initializer_list<const char*> parts) const {
    return std::equal(path.begin(), path.end(), parts.begin(), parts.end());
  }
  void need(const char* method) const {
    const bool is_head = request.method == "HEAD" && std::string_view(method) == "GET";
    if (request.method != method && !is_head)
      refuse(405, request.target.substr(0, 100), " takes ", method, ", not ", request.method.substr(0, 20));
  }
};

Protocol::Protocol(const ProtocolOptions& options, Repository& repository, Lanes& lanes, const TextModels& texts)
    : options_(options),
      repository_(repository),
      lanes_(lanes),
      generations_(lanes, options.generations, options.logs_requests),
      openai_(texts, repository, generations_) {}

Answer Protocol::observed(const HttpRequest& request, Answer answer) const {
  const std::string encoding(chosen_encoding(request.accept_encoding));
  if (encoding.empty() && !options_.logs_requests) return answer;
  const auto begin = Clock::now();
  return [this, encoding, begin, method = request.method, target = request.target, bytes = request.body.size(),
          answer = std::move(answer)](HttpReply reply) {
    if (!encoding.empty() && reply.body.size() >= kSmallestCompressed) {
      reply.body = compressed(reply.body, encoding);
      reply.encoding = encoding;
    }
    if (options_.logs_requests) {
      const auto us = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count();
      log_event("request", {{"method", in_quotes(method)},
                            {"target", in_quotes(target.substr(0, 200))},
                            {"status", std::to_string(reply.status)},
                            {"us", std::to_string(us)},
                            {"bytes_in", std::to_string(bytes)},
                            {"bytes_out", std::to_string(reply.body.size())}});
    }
    answer(std::move(reply));
  };
}

bool Protocol::is_allowed(const HttpRequest& request) const {
  return options_.token.empty() || is_equal(request.authorization, "Bearer " + options_.token);
}

void Protocol::handle(HttpRequest request, Answer given) {
  const Answer answer = observed(request, std::move(given));
  bool is_openai = false;
  const auto refuse_with = [&](unsigned status, const std::string& message, const std::string& parameter) {
    answer(is_openai ? openai_error(status, message, parameter) : error_reply(status, message));
  };
  try {
    Call call = {std::move(request), answer, {}, {}, {}};
    call.path = path_of(call.request.target);
    is_openai = !call.path.empty() && call.path[0] == "v1";
    route(std::move(call));
  } catch (const Refusal& refusal) {
    refuse_with(refusal.status(), refusal.what(), refusal.parameter());
  } catch (const std::bad_alloc&) {
    refuse_with(503, "not enough memory for this request", "");
  } catch (const std::exception& error) {
    refuse_with(500, error.what(), "");
  }
}

void Protocol::route(Call call) {
  if (call.is({"v2", "health", "live"}) || call.is({"v2", "health", "ready"})) {
    call.need("GET");
    const bool is_ready = call.path[2] == "live" || !is_draining_;
    HttpReply reply = json_reply(is_ready ? "{}" : "{\"error\":\"the server is shutting down\"}");
    reply.status = is_ready ? 200 : 503;
    return call.answer(std::move(reply));
  }
  if (!is_allowed(call.request)) refuse(401, "the request needs the header Authorization: Bearer and the token");
  if (!call.request.content_encoding.empty())
    call.request.body = decompressed(call.request.body, call.request.content_encoding, options_.body);
  if (!call.path.empty() && call.path[0] == "v2") {
    call.path.erase(call.path.begin());
    return route_v2(std::move(call));
  }
  if (!call.path.empty() && call.path[0] == "v1") {
    call.path.erase(call.path.begin());
    return openai_.handle(std::move(call.request), call.path, call.answer);
  }
  HttpReply reply;
  call.need("GET");
  if (call.path.empty()) {
    reply.type = "text/html; charset=utf-8";
    reply.body = page_html(repository_.stored(),
                           [&](const gart::store::StoredVersion& v) { return repository_.is_loaded(v.id, v.version); });
  } else if (call.is({"metrics"})) {
    reply.type = "text/plain; version=0.0.4";
    reply.body = metrics();
  } else {
    refuse(404, "there is nothing at ", call.request.target.substr(0, 100));
  }
  call.answer(std::move(reply));
}

void Protocol::route_v2(Call call) {
  if (call.path.empty()) {
    call.need("GET");
    return call.answer(json_reply(server_json()));
  }
  if (call.path[0] == "repository") return route_repository(std::move(call));
  if (call.is({"models", "stats"})) {
    call.need("GET");
    return call.answer(json_reply(statistics_json("")));
  }
  if (call.path[0] != "models" || call.path.size() < 2)
    refuse(404, "this server has nothing at ", call.request.target.substr(0, 100));
  call.id = call.path[1];
  call.path.erase(call.path.begin(), call.path.begin() + 2);
  if (call.path.size() >= 2 && call.path[0] == "versions") {
    call.version = call.path[1];
    call.path.erase(call.path.begin(), call.path.begin() + 2);
  }
  route_model(std::move(call));
}

void Protocol::route_model(Call call) {
  if (call.is({"infer"})) return infer(std::move(call));
  call.need("GET");
  if (call.path.empty()) return with_model(call, [](const Model& m) { return json_reply(metadata_json(m)); });
  if (call.is({"ready"})) return with_model(call, [](const Model&) { return json_reply("{}"); });
  if (call.is({"config"})) return with_model(call, [](const Model& m) { return json_reply(configuration_json(m)); });
  if (call.is({"stats"}))
    return with_model(call, [this](const Model& m) { return json_reply(statistics_json(m.id())); });
  refuse(404, "this server has nothing at ", call.request.target.substr(0, 100));
}

void Protocol::with_model(const Call& call, std::function<HttpReply(const Model&)> reply) {
  const Answer& answer = call.answer;
  repository_.with_model(
      call.id, call.version,
      [answer, reply = std::move(reply)](const std::shared_ptr<Model>& model) { answer(reply(*model)); },
      [answer](unsigned status, const std::string& message) { answer(error_reply(status, message)); });
}

void Protocol::route_repository(Call call) {
  call.need("POST");
  const Answer& answer = call.answer;
  if (call.is({"repository", "index"})) {
    const auto document = call.request.body.empty() ? nlohmann::json::object() : parse_json(call.request.body);
    const bool ready = document.is_object() && document.contains("ready") && document["ready"] == true;
    return answer(json_reply(repository_.index_json(ready)));
  }
  const bool is_model = call.path.size() == 4 && call.path[1] == "models";
  if (is_model && call.path[3] == "load") {
    return repository_.load(
        call.path[2], [answer] { answer(json_reply("{}")); },
        [answer](unsigned status, const std::string& message) { answer(error_reply(status, message)); });
  }
  if (!is_model || call.path[3] != "unload")
    refuse(404, "this server has nothing at ", call.request.target.substr(0, 100));
  repository_.unload(call.path[2]);
  answer(json_reply("{}"));
}

void Protocol::infer(Call call) {
  call.need("POST");
  auto request =
      std::make_shared<InferRequest>(parse_infer_request(std::move(call.request.body), call.request.json_length));
  const Answer& answer = call.answer;
  repository_.with_model(
      call.id, call.version,
      [this, request, answer](std::shared_ptr<Model> model) {
        try {
          check_against(*request, model->inputs(request->entry));
          for (const WantedOutput& output : request->outputs) model->check_output(request->entry, output.name);
          const bool is_sequential = model->is_sequential(request->entry);
          if (is_sequential && request->sequence.key.empty())
            refuse(400, "the model '", model->id(), "' keeps states in sequences: the request needs a sequence_id");
          auto job = std::make_unique<InferJob>();
          if (is_sequential) job->sequence = model->id() + "@" + model->version() + request->sequence.key;
          job->model = std::move(model);
          job->request = std::move(*request);
          job->answer = answer;
          lanes_.submit(std::move(job));
        } catch (const Refusal& refusal) {
          answer(error_reply(refusal.status(), refusal.what()));
        }
      },
      [answer](unsigned status, const std::string& message) { answer(error_reply(status, message)); });
}

std::string Protocol::server_json() const {
  return "{\"name\":\"gcc-graph\",\"version\":" + in_quotes(options_.version) +
         ",\"extensions\":[\"binary_tensor_data\",\"sequence\",\"sequence(string_id)\",\"statistics\","
         "\"model_configuration\",\"model_repository\"]}";
}

std::string Protocol::statistics_json(const std::string& id) const {
  std::string out = "{\"model_stats\":[";
  bool is_first = true;
  for (const auto& model : repository_.loaded()) {
    if (!id.empty() && model->id() != id) continue;
    if (!is_first) out += ',';
    is_first = false;
    out += model->statistics.json(model->id(), model->version());
  }
  return out + "]}";
}

namespace {

/// The metrics of devices that models share.
std::string metrics_of(const std::vector<gart::fleet::DeviceLoad>& devices) {
  std::string out;
  const auto family = [&](const char* name, const char* help, auto&& value_of) {
    if (devices.empty()) return;
    out += std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " gauge\n";
    for (const gart::fleet::DeviceLoad& device : devices)
      out += std::string(name) + "{device=\"" + device.device + "\"} " + std::to_string(value_of(device)) + "\n";
  };
  using Load = gart::fleet::DeviceLoad;
  family("gart_device_busy", "1 if the device works.", [](const Load& of) { return int(of.busy); });
  family("gart_device_groups", "Groups of running requests on the device.", [](const Load& of) { return of.groups; });
  family("gart_device_work_seconds", "Expected time of these groups.", [](const Load& of) { return of.work_us / 1e6; });
  family("gart_device_weight_bytes", "Weights on the device.", [](const Load& of) { return of.weight_bytes; });
  family("gart_device_value_bytes", "Values of running requests.", [](const Load& of) { return of.value_bytes; });
  return out;
}

}  // namespace

std::string Protocol::metrics() const {
  const HttpCounts http = counts ? counts() : HttpCounts();
  std::string out;
  const auto family = [&](const char* name, const char* type, const char* help) {
    out += std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
  };
  const auto number = [&](const char* name, const char* type, const char* help, uint64_t value) {
    family(name, type, help);
    out += std::string(name) + " " + std::to_string(value) + "\n";
  };
  number("gart_connections", "gauge", "Open connections.", http.connections);
  number("gart_connections_total", "counter", "Accepted connections.", http.accepted);
  number("gart_connections_refused_total", "counter", "Connections beyond the limit.", http.refused);
  number("gart_http_requests_total", "counter", "HTTP requests of all kinds.", http.requests);
  number("gart_queue_length", "gauge", "Requests that wait for a lane.", lanes_.waiting());
  number("gart_sequences", "gauge", "Sequences with states.", lanes_.sequences());
  number("gart_generations", "gauge", "Requests for text that run or wait.", generations_.count());
  number("gart_memory_bytes", "gauge", "Bytes that loaded models hold.", static_cast<uint64_t>(repository_.memory()));
  if (repository_.budget() > 0)
    number("gart_memory_budget_bytes", "gauge", "Most bytes that loaded models may hold.",
           static_cast<uint64_t>(repository_.budget()));
  out += metrics_of(repository_.devices());
  std::map<std::string, std::string> lines;
  for (const auto& model : repository_.loaded())
    model->statistics.add_metrics(lines, "model=\"" + model->id() + "\",version=\"" + model->version() + "\"");
  for (const Statistics::Family& f : Statistics::kFamilies) {
    family(f.name, f.type, f.help);
    out += lines[f.name];
  }
  return out;
}

}  // namespace gcg::serve
