#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "gart/generate.hpp"
#include "tools/gcc-graph/commands/commands.h"
#include "tools/gcc-graph/io/model_inputs.h"
#include "tools/gcc-graph/options/session_option.h"
#include "tools/gcc-graph/support/fail.h"
#include "tools/gcc-graph/support/json_text.h"
#include "tools/text/model_folder.h"
#include "tools/text/stop_text.h"
#include "tools/text/tokenizer.h"

namespace gcg::tools {
namespace {

struct Arguments {
  std::string artifact, ids, stop_ids, prompt, tokenizer, folder;
  std::vector<std::string> stops;
  bool is_chat = false;
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

nlohmann::ordered_json as_json(const gart::Generated& done) {
  const double after_first = done.total_ms - done.first_token_ms;
  nlohmann::ordered_json out = {{"ids", done.ids},
                                {"reason", name_of(done.reason)},
                                {"first_token_ms", done.first_token_ms},
                                {"runs", done.runs}};
  if (done.ids.size() > 1) out["tokens_per_second"] = 1e3 * double(done.ids.size() - 1) / after_first;
  return out;
}

/// The text of new tokens, printed as it comes unless the output is JSON.
class Answer {
 public:
  Answer(Tokenizer& tokenizer, std::span<const int64_t> prompt, const Arguments& a)
      : tokens_(tokenizer, prompt), stops_(a.stops), is_shown_(!a.json) {}

  /// Returns false after a stop text. `is_end`: the token ends the generation and is not a part of the text.
  bool add(int64_t id, bool is_end) {
    if (!is_end) show(stops_.add(tokens_.add(id)));
    return !stops_.has_stopped();
  }
  void end() {
    if (!stops_.has_stopped()) show(stops_.add(tokens_.end()));
    if (!stops_.has_stopped()) show(stops_.held_back());
    if (is_shown_) std::cout << std::endl;
  }
  bool has_stopped() const { return stops_.has_stopped(); }
  const std::string& text() const { return text_; }

 private:
  void show(const std::string& text) {
    text_ += text;
    if (is_shown_) std::cout << text << std::flush;
  }

  TokenText tokens_;
  StopText stops_;
  bool is_shown_;
  std::string text_;
};

std::string folder_of(const std::string& file) { return std::filesystem::path(file).parent_path().string(); }

/// Reads the model's configuration from --config, or else from the tokenizer's folder, or else from the model's folder.
ModelFolder find_folder(const Arguments& a) {
  if (a.folder.empty()) return read_model_folder(folder_of(a.tokenizer.empty() ? a.artifact : a.tokenizer));
  if (!std::filesystem::is_directory(a.folder)) fail("--config ", a.folder, ": there is no such folder");
  return read_model_folder(a.folder);
}

std::unique_ptr<Tokenizer> open_tokenizer(const Arguments& a, const ModelFolder& folder) {
  const std::string beside = (std::filesystem::path(folder.path) / "tokenizer.json").string();
  if (a.tokenizer.empty() && !std::filesystem::exists(beside))
    fail("text needs a tokenizer: name the model's tokenizer.json with --tokenizer (", beside, " does not exist)");
  return std::make_unique<Tokenizer>(a.tokenizer.empty() ? beside : a.tokenizer);
}

/// The ids of the prompt. `past`: the number of tokens that the session already holds.
std::vector<int64_t> prompt_ids(const Arguments& a, Tokenizer& tokenizer, const ModelFolder& folder, int64_t past) {
  if (a.prompt.empty()) return parse_ids("--ids", a.ids);
  if (a.is_chat && past > 0)
    fail("--chat begins a conversation, but the session in ", a.session.path, " holds ", past, " tokens already");
  if (a.is_chat) {
    const ChatMessage message = {"user", a.prompt};
    return tokenizer.encode(tokenizer.as_chat({&message, 1}, folder.path), false);
  }
  std::vector<int64_t> ids = tokenizer.encode(a.prompt, past == 0);
  if (ids.empty()) fail("the tokenizer makes no token of the text");
  return ids;
}

/// Sets options so that the generation ends with the model's end token, and before the model's context is full.
void follow_folder(gart::GenerateOptions& options, const ModelFolder& folder, Tokenizer* tokenizer, int64_t tokens) {
  const std::vector<int64_t> ends = tokenizer != nullptr ? tokenizer->end_ids(folder) : folder.end_ids;
  options.stop_ids.insert(options.stop_ids.end(), ends.begin(), ends.end());
  if (folder.context_length == 0) return;
  if (tokens > folder.context_length)
    fail("the prompt makes ", tokens, " tokens with those of the session, but the model reads at most ",
         folder.context_length, " (", folder.context_source, ")");
  options.max_tokens = std::min(options.max_tokens, folder.context_length - tokens + 1);
}

struct Model {
  gart::Program program;
  gart::Session session;
  gart::Generator generator;
};

Model open_model(const Arguments& a) {
  const gart::Program program = load_program(a.artifact, a.program);
  const std::optional<gart::Session> session = a.session.open(program);
  if (!session)
    fail(a.artifact, " has no states, so it would forget each token: compile the model with --state auto (gcc-graph ",
         "compile model.onnx --state auto)");
  return {program, *session, value_or_throw(gart::Generator::create(program, *session, a.entries))};
}

void generate_text(Arguments& a, Model& model) {
  const ModelFolder folder = find_folder(a);
  const std::unique_ptr<Tokenizer> opened = open_tokenizer(a, folder);
  Tokenizer& tokenizer = *opened;
  const int64_t past = a.session.path.empty() ? 0 : value_or_throw(model.generator.length());
  const std::vector<int64_t> prompt = prompt_ids(a, tokenizer, folder, past);
  follow_folder(a.options, folder, &tokenizer, past + int64_t(prompt.size()));
  Answer answer(tokenizer, prompt, a);
  const auto each = [&](int64_t id) { return answer.add(id, std::ranges::count(a.options.stop_ids, id) != 0); };
  const gart::Result<gart::Generated> result = model.generator.generate(prompt, a.options, each);
  answer.end();
  if (!result) throw Error(result.error().message);
  const gart::Generated& done = *result;
  if (!a.session.path.empty()) {  // the session reads the last token now, because the next text follows this token
    gart::GenerateOptions last;
    last.max_tokens = 1;
    value_or_throw(model.generator.generate({&done.ids.back(), 1}, last));
    a.session.save(model.session);
  }
  nlohmann::ordered_json told = as_json(done);
  if (answer.has_stopped()) told["reason"] = "stop_text";
  if (a.json) {
    told["text"] = answer.text();
    told["prompt_tokens"] = prompt.size();
    std::cout << json_text(told) << '\n';
    return;
  }
  std::cerr << done.ids.size() << " tokens after " << prompt.size() << std::fixed << std::setprecision(1);
  if (told.contains("tokens_per_second")) std::cerr << ", " << told["tokens_per_second"].get<double>() << " tokens/s";
  std::cerr << ", first token after " << done.first_token_ms << " ms\n";
}

void generate_ids(Arguments& a, Model& model) {
  const std::vector<int64_t> prompt = parse_ids("--ids", a.ids);
  if (!a.folder.empty()) {
    const int64_t past = a.session.path.empty() ? 0 : value_or_throw(model.generator.length());
    follow_folder(a.options, find_folder(a), nullptr, past + int64_t(prompt.size()));
  }
  bool first = true;
  const auto print = [&](int64_t id) {
    std::cout << (first ? "" : ",") << id << std::flush;
    first = false;
    return true;
  };
  const auto each = a.json ? std::function<bool(int64_t)>() : std::function<bool(int64_t)>(print);
  const gart::Result<gart::Generated> done = model.generator.generate(prompt, a.options, each);
  if (!first) std::cout << std::endl;
  if (!done) throw Error(done.error().message);
  a.session.save(model.session);
  if (a.json) std::cout << json_text(as_json(*done)) << '\n';
}

void generate(Arguments& a) {
  const bool is_text = !a.prompt.empty() || !a.tokenizer.empty();
  if (!a.prompt.empty() && !a.ids.empty()) fail("--ids and a text are both given: expected one prompt");
  if (a.is_chat && a.prompt.empty()) fail("--chat needs a text");
  if (!a.stops.empty() && !is_text) fail("--stop needs --tokenizer; --stop-ids ends with token ids");
  if (std::ranges::count(a.stops, std::string()) != 0) fail("--stop '': expected a text");
  a.options.stop_ids = parse_ids("--stop-ids", a.stop_ids);
  parse_ids("--ids", a.ids);  // checked before the model is loaded
  Model model = open_model(a);
  is_text ? generate_text(a, model) : generate_ids(a, model);
}

void add_text_options(CLI::App& c, Arguments& a) {
  c.add_option("--prompt,text", a.prompt, "Text that the model goes on with; the answer is printed as it comes");
  c.add_option("--tokenizer", a.tokenizer,
               "The model's tokenizer.json (default: beside the model); read by the Python package tokenizers");
  c.add_option("--config", a.folder,
               "Folder with genai_config.json, generation_config.json or config.json, which give the end token and the "
               "context's length (default for text: the tokenizer's folder, or the model's)");
  c.add_option("--stop", a.stops, "TEXT: end before this text; may be given several times")->allow_extra_args(false);
  c.add_flag("--chat", a.is_chat, "The text is a message: put it into the chat template of the configuration's folder");
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
  c.add_option("--lookup", o.lookup,
               "Guess up to N tokens from earlier text and read them in one run: the same result in fewer runs if the "
               "text repeats itself; 0: none");
  c.add_option("--chunk", o.chunk, "Read the prompt in runs of at most N tokens; 0: in one run");
}

}  // namespace

void add_generate_command(CLI::App& app) {
  auto a = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand("generate", "Generate tokens with a language model that has states");
  c->add_option("artifact", a->artifact, "The .gart file")->required();
  c->add_option("--ids", a->ids, "1,2,3: the token ids of the prompt");
  add_text_options(*c, *a);
  c->add_option("--stop-ids", a->stop_ids, "1,2: end with a token of these ids");
  add_sampling_options(*c, a->options);
  a->session.add_to(*c, true);
  c->add_option("--entry", a->entries.decode, "The entry point that reads tokens (default: decode, or the first)");
  c->add_option("--prefill", a->entries.prefill, "The entry point for the first tokens (default: prefill, if any)");
  c->add_option("--threads", a->program.threads, "Threads that share a run; 0: one per CPU")
      ->check(CLI::Range(0, 1024));
  c->add_option("--target", a->program.target, "Use the code for this target instead of the best one for this machine");
  c->add_option("--device", a->program.device, "The same devices as for run");
  a->program.trust.add_to(*c);
  c->add_flag("--json", a->json, "Print ids, tokens per second and the time to the first token as JSON");
  c->callback([a] { generate(*a); });
}

}  // namespace gcg::tools
