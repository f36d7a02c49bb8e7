#include <CLI/CLI.hpp>
#include <charconv>
#include <iostream>
#include <nlohmann/json.hpp>

#include "gart/generate.hpp"
#include "tools/gcc-graph/commands/commands.h"
#include "tools/gcc-graph/io/model_inputs.h"
#include "tools/gcc-graph/options/session_option.h"
#include "tools/gcc-graph/support/fail.h"
#include "tools/gcc-graph/support/json_text.h"

namespace gcg::tools {
namespace {

struct Arguments {
  std::string artifact, ids, stop_ids, prompt;
  gart::GenerateOptions options;
  gart::GenerateEntries entries;
  InputOptions program;  // options for device, target and threads
  SessionOption session;
  bool json = false;
};

std::vector<int64_t> parse_ids(const std::string& option, const std::string& text) {
  std::vector<int64_t> ids;
  for (const char *at = text.data(), *const end = at + text.size(); at != end;) {
    int64_t id = 0;
    const auto [after, error] = std::from_chars(at, end, id);
    const bool is_last = after == end;
    if (error != std::errc() || id < 0 || (!is_last && (*after != ',' || after + 1 == end)))
      fail(option, " ", text, ": expected token ids like 1,2,3");
    ids.push_back(id);
    at = is_last ? end : after + 1;
  }
  return ids;
}

const char* name_of(gart::StopReason reason) {
  switch (reason) {
    case gart::StopReason::stop_id:
      return "stop_id";
    case gart::StopReason::callback:
      return "callback";
    default:
      return "max_tokens";
  }
}

void print_json(const gart::Generated& done) {
  const double after_first = done.total_ms - done.first_token_ms;
  nlohmann::ordered_json out = {
      {"ids", done.ids}, {"reason", name_of(done.reason)}, {"first_token_ms", done.first_token_ms}};
  if (done.ids.size() > 1) out["tokens_per_second"] = 1e3 * double(done.ids.size() - 1) / after_first;
  std::cout << json_text(out) << '\n';
}

void generate(Arguments& a) {
  if (!a.prompt.empty())
    fail("--prompt needs a tokenizer, which gcc-graph does not contain: give token ids with --ids, or use ",
         "examples/chat.py, which reads a tokenizer.json");
  const std::vector<int64_t> prompt = parse_ids("--ids", a.ids);
  a.options.stop_ids = parse_ids("--stop-ids", a.stop_ids);
  const gart::Program program = load_program(a.artifact, a.program);
  const std::optional<gart::Session> session = a.session.open(program);
  if (!session)
    fail(a.artifact, " has no states, so it would forget each token: compile the model with --state auto (gcc-graph ",
         "compile model.onnx --state auto)");
  gart::Generator generator = value_or_throw(gart::Generator::create(program, *session, a.entries));
  bool first = true;
  const auto print = [&](int64_t id) {
    std::cout << (first ? "" : ",") << id << std::flush;
    first = false;
    return true;
  };
  const auto each = a.json ? std::function<bool(int64_t)>() : std::function<bool(int64_t)>(print);
  const gart::Result<gart::Generated> done = generator.generate(prompt, a.options, each);
  if (!first) std::cout << std::endl;
  if (!done) throw Error(done.error().message);
  a.session.save(*session);
  if (a.json) print_json(*done);
}

void add_sampling_options(CLI::App& c, gart::GenerateOptions& o) {
  c.add_option("--max-tokens", o.max_tokens, "Tokens to generate")->capture_default_str();
  c.add_option("--temperature", o.temperature, "Divides the logits; 0: always the most likely token")
      ->capture_default_str();
  c.add_option("--top-k", o.top_k, "Choose among the K most likely tokens; 0: all");
  c.add_option("--top-p", o.top_p, "Choose among the most likely tokens that have this probability together")
      ->capture_default_str();
  c.add_option("--min-p", o.min_p, "Choose among tokens that have this fraction of the highest probability");
  c.add_option("--repetition-penalty", o.repetition_penalty,
               "Divides the positive logits of tokens that occurred, and multiplies the negative ones")
      ->capture_default_str();
  c.add_option("--presence-penalty", o.presence_penalty, "Subtracted from the logits of tokens that were generated");
  c.add_option("--seed", o.seed, "Start of the random numbers; the same seed gives the same tokens")
      ->capture_default_str();
  c.add_option("--chunk", o.chunk, "Read the prompt in runs of at most N tokens; 0: in one run");
}

}  // namespace

void add_generate_command(CLI::App& app) {
  auto a = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand("generate", "Generate tokens with a language model that has states");
  c->add_option("artifact", a->artifact, "The .gart file")->required();
  c->add_option("--ids", a->ids, "1,2,3: the token ids of the prompt");
  c->add_option("--prompt", a->prompt, "Text; refused, because the tool has no tokenizer (examples/chat.py has one)");
  c->add_option("--stop-ids", a->stop_ids, "1,2: end with a token of these ids");
  add_sampling_options(*c, a->options);
  a->session.add_to(*c, true);
  c->add_option("--entry", a->entries.decode, "The entry point that reads tokens (default: decode, or the first)");
  c->add_option("--prefill", a->entries.prefill, "The entry point for the first tokens (default: prefill, if any)");
  c->add_option("--threads", a->program.threads, "Threads that share a run; 0: one per CPU")
      ->check(CLI::Range(0, 1024));
  c->add_option("--target", a->program.target, "Use the code for this target instead of the best one for this machine");
  c->add_option("--device", a->program.device, "The same devices as for run");
  c->add_flag("--json", a->json, "Print ids, tokens per second and the time to the first token as JSON");
  c->callback([a] { generate(*a); });
}

}  // namespace gcg::tools
