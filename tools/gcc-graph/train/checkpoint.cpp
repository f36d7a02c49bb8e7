#include "tools/gcc-graph/train/checkpoint.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/gcc-graph/io/model_inputs.h"
#include "tools/gcc-graph/io/write_file.h"
#include "tools/gcc-graph/support/fail.h"
#include "tools/gcc-graph/support/json_text.h"

namespace gcg::tools {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string index_of(const std::string& folder) { return (fs::path(folder) / "checkpoint.json").string(); }

Json read(const std::string& folder) {
  const std::string path = index_of(folder);
  std::ifstream file(path);
  if (!file) fail("--resume: there is no checkpoint ", path);
  try {
    return Json::parse(file);
  } catch (const Json::exception&) {
    fail("--resume: ", path, " is not a checkpoint");
  }
}

TrainingFacts facts_in(const std::string& folder, const Json& json) {
  try {
    TrainingFacts facts;
    facts.model = json.at("model").get<std::string>();
    facts.entry = json.at("entry").get<std::string>();
    facts.samples = json.at("samples").get<int64_t>();
    facts.batch = json.at("batch").get<int64_t>();
    facts.seed = json.at("seed").get<uint64_t>();
    facts.shuffle = json.at("shuffle").get<bool>();
    facts.replicas = json.value("replicas", int64_t{1});
    return facts;
  } catch (const Json::exception&) {
    fail("--resume: ", index_of(folder), " is not a checkpoint");
  }
}

template <class T>
void check_same(const std::string& path, const char* what, const T& saved, const T& now) {
  if (saved != now) fail("--resume: ", path, " comes from a run with ", what, " ", saved, "; this one has ", now);
}

}  // namespace

void Checkpoint::prepare() const {
  if (folder_.empty()) return;
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) fail("--checkpoint ", folder_, ": ", error.message());
  check_writable(index_of(folder_));
}

void Checkpoint::save(const gart::Program& program, const TrainingFacts& facts, const TrainingPlace& place) const {
  if (folder_.empty()) return;
  const std::string states = concat("states-", place.steps, ".safetensors");
  value_or_throw(program.save_states((fs::path(folder_) / states).string()));
  const Json json = {{"model", facts.model},       {"entry", facts.entry}, {"samples", facts.samples},
                     {"batch", facts.batch},       {"seed", facts.seed},   {"shuffle", facts.shuffle},
                     {"replicas", facts.replicas}, {"epoch", place.epoch}, {"position", place.position},
                     {"steps", place.steps},       {"states", states}};
  const std::string text = json_text(json) + "\n";
  write_file(index_of(folder_), {text.begin(), text.end()});
  for (const auto& file : fs::directory_iterator(folder_)) {
    const std::string name = file.path().filename().string();
    std::error_code ignored;  // a failure is ignored: the old file is not needed, but does no harm
    if (name.starts_with("states-") && name.ends_with(".safetensors") && name != states)
      fs::remove(file.path(), ignored);
  }
}

TrainingFacts Checkpoint::facts() const { return facts_in(folder_, read(folder_)); }

TrainingPlace Checkpoint::load(const gart::Program& program, const TrainingFacts& now) const {
  const Json json = read(folder_);
  const std::string path = index_of(folder_);
  const TrainingFacts saved = facts_in(folder_, json);
  if (saved.model != now.model) fail("--resume: ", path, " is a checkpoint of another model");
  check_same(path, "entry point", saved.entry, now.entry);
  check_same(path, "samples:", saved.samples, now.samples);
  check_same(path, "--batch", saved.batch, now.batch);
  check_same(path, "--seed", saved.seed, now.seed);
  check_same(path, "--replicas", saved.replicas, now.replicas);
  if (saved.shuffle != now.shuffle)
    fail("--resume: ", path, " comes from a run ", saved.shuffle ? "with" : "without", " shuffling; this one is not");
  TrainingPlace place;
  std::string states;
  try {
    place = {json.at("epoch").get<int64_t>(), json.at("position").get<int64_t>(), json.at("steps").get<int64_t>()};
    states = json.at("states").get<std::string>();
  } catch (const Json::exception&) {
    fail("--resume: ", path, " is not a checkpoint");
  }
  if (place.epoch < 0 || place.position < 0 || place.position > now.samples || place.steps < 0 ||
      states.find('/') != std::string::npos)
    fail("--resume: ", path, " is not a checkpoint");
  value_or_throw(program.load_states((fs::path(folder_) / states).string()));
  return place;
}

}  // namespace gcg::tools
