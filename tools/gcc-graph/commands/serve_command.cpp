#include <CLI/CLI.hpp>
#include <algorithm>
#include <thread>

#include "tools/gcc-graph/commands/commands.h"
#include "tools/gcc-graph/io/read_file.h"
#include "tools/gcc-graph/io/signature.h"
#include "tools/gcc-graph/io/trust_option.h"
#include "tools/gcc-graph/support/fail.h"
#include "tools/serve/server.h"

namespace gcg::tools {
namespace {

struct Arguments {
  serve::ServerOptions server;
  TrustOption trust;
  std::string token_file;
  uint64_t memory = 0;
  std::vector<std::string> tokenizers;
  int64_t body_mib = 64, header_kib = 16, idle_seconds = 60, sequence_seconds = 60, drain_seconds = 30;
};

std::string token_in(const std::string& path) {
  const std::vector<uint8_t> bytes = read_file(path);
  std::string token(bytes.begin(), bytes.end());
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  const bool is_plain = std::ranges::all_of(token, [](char c) { return c > ' ' && c <= '~'; });
  if (token.empty() || !is_plain) fail("--token-file ", path, ": expected one line of printable characters");
  return token;
}

std::pair<std::string, std::string> parse_tokenizer(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    fail("--tokenizer ", text, ": expected ID=FILE, a model of the store and its tokenizer.json");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

void run(Arguments& a) {
  serve::ServerOptions& options = a.server;
  for (const std::string& text : a.tokenizers) options.tokenizers.push_back(parse_tokenizer(text));
  if (!a.token_file.empty()) options.token = token_in(a.token_file);
  options.models.memory = static_cast<int64_t>(std::min<uint64_t>(a.memory, INT64_MAX));
  options.http.body = static_cast<size_t>(a.body_mib) << 20;
  options.http.header = static_cast<size_t>(a.header_kib) << 10;
  options.http.idle = std::chrono::seconds(a.idle_seconds);
  options.lanes.sequence_idle = std::chrono::seconds(a.sequence_seconds);
  options.drain = std::chrono::seconds(a.drain_seconds);
  options.models.trust.is_signed_by = is_signed_by;
  options.models.trust.keys = a.trust.key_files();
  for (const std::string& key : options.models.trust.keys) is_signed_by({}, {}, key);  // refuses what is not a key
  options.version = gart::version();
  if (options.lanes.lanes == 0)
    options.lanes.lanes = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  if (!serve::serve(options)) throw CLI::RuntimeError(1);
}

void add_limits(CLI::App& c, Arguments& a) {
  const auto limit = [&](const char* name, auto& value, const char* text, int64_t most) {
    c.add_option(name, value, text)->check(CLI::Range(int64_t{1}, most))->capture_default_str();
  };
  constexpr int64_t kDay = 86'400;
  limit("--queue", a.server.lanes.queue, "Limit of waiting requests; further ones get status 429", 1 << 20);
  limit("--sequences", a.server.lanes.sequences, "Limit of sequences at a time; further ones get status 429", 1 << 20);
  limit("--sequence-seconds", a.sequence_seconds, "A sequence ends after this many seconds without a request", kDay);
  limit("--generations", a.server.generations, "Limit of texts that are generated at a time; others wait", 1 << 16);
  limit("--connections", a.server.http.connections, "Limit of connections at a time", 1 << 16);
  limit("--body-mib", a.body_mib, "Limit of a request's body in MiB, also after decompression", 2048);
  limit("--header-kib", a.header_kib, "Limit of a request's header in KiB", 1024);
  limit("--idle-seconds", a.idle_seconds, "Seconds that a connection may wait for its next request", kDay);
  limit("--drain-seconds", a.drain_seconds, "Limit of the seconds to answer open requests after SIGTERM", kDay);
}

}  // namespace

void add_serve_command(CLI::App& app) {
  auto a = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand(
      "serve", "Serve the models of a store over HTTP: by the Open Inference Protocol, and text in OpenAI's form");
  c->add_option("--store", a->server.models.store, "DIR: the store, as gcc-graph store add makes it")->required();
  c->add_option("--address", a->server.http.address, "The address to listen on; 0.0.0.0: all")->capture_default_str();
  a->server.http.port = 8000;
  a->server.lanes.lanes = 0;
  c->add_option("--port", a->server.http.port, "0: any free port, which the log names")->capture_default_str();
  c->add_option("--load", a->server.loads,
                "Comma-separated models, ID or ID@VERSION, to load before the first request. Others are loaded when a "
                "request names them")
      ->delimiter(',');
  c->add_option(
       "--memory", a->memory,
       "Limit of the memory for loaded models, as 2GB or 500MiB; those that were not used for the longest time are "
       "unloaded. Default: any amount")
      ->transform(CLI::AsSizeValue(true));
  c->add_option("--lanes", a->server.lanes.lanes, "Runs at a time; 0: one per core")->check(CLI::Range(0, 1024));
  c->add_option("--device", a->server.models.devices.device,
                "cpu, cpu:0-3, cuda or cuda:1; default: the best a file has code for");
  c->add_option("--threads", a->server.models.devices.threads, "Threads that share a run; 0: one per core")
      ->check(CLI::Range(0, 1024));
  c->add_option(
       "--tokenizer", a->tokenizers,
       "ID=FILE: serve text of this model in OpenAI's form, with its tokenizer.json; the folder of FILE has the "
       "configuration and the chat template. May be given several times")
      ->allow_extra_args(false);
  c->add_option("--token-file", a->token_file, "Requests need the header Authorization: Bearer and this file's line");
  a->trust.add_keys_to(*c, "--trusted-key,--trusted");
  CLI::Option* certificate =
      c->add_option("--cert", a->server.http.certificate, "PEM file with the certificate's chain: serve HTTPS");
  c->add_option("--key", a->server.http.key, "PEM file with the certificate's private key")->needs(certificate);
  certificate->needs("--key");
  c->add_flag("--log-requests", a->server.logs_requests,
              "Write a line for each request to the log, which is on stderr");
  add_limits(*c, *a);
  c->callback([a] { run(*a); });
}

}  // namespace gcg::tools
