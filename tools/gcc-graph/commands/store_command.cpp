#include <CLI/CLI.hpp>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tools/gcc-graph/commands/commands.h"
#include "tools/gcc-graph/support/fail.h"
#include "tools/gcc-graph/support/json_text.h"
#include "tools/store/store.h"

namespace gcg::tools {
namespace {

using gart::store::Reference;
using gart::store::Store;
using gart::store::StoredVersion;
using Json = nlohmann::ordered_json;

constexpr int64_t kMostRows = 1 << 16;

struct Arguments {
  std::string store, artifact, model, signature;
  bool replaces = false, json = false, cleans = false;
  int64_t rows = 1;
};

Json json_of(const StoredVersion& v) {
  Json out = {{"id", v.id},       {"version", v.version}, {"digest", v.digest},
              {"bytes", v.bytes}, {"added", v.added},     {"join_rows", v.rows}};
  if (!v.signature.empty()) out["signature"] = v.signature;
  out["operations"] = Json::array();
  for (const auto& o : v.facts.operations) out["operations"].push_back({{"entry", o.entry}, {"kind", o.kind}});
  out["groups"] = Json::array();
  for (const auto& g : v.facts.groups)
    out["groups"].push_back({{"name", g.name}, {"device", g.device}, {"support", g.support}});
  return out;
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

void print_version(const StoredVersion& v) {
  std::cout << v.id << "@" << v.version << ": " << v.bytes << " bytes, digest " << v.digest << ", added " << v.added
            << '\n';
  for (const auto& o : v.facts.operations)
    std::cout << "  entry point " << (o.entry.empty() ? "(unnamed)" : o.entry) << ": " << o.kind << '\n';
  if (!v.signature.empty()) std::cout << "  has a signature\n";
  if (v.rows > 1) std::cout << "  a server joins up to " << v.rows << " rows\n";
  for (const auto& g : v.facts.groups)
    std::cout << "  group " << g.name << " on " << g.device << "; supported by " << joined(g.support) << '\n';
}

void add(const Arguments& a) {
  const Reference model = gart::store::parse_reference(a.model);
  if (a.replaces && !model.version) fail("--replace needs the version: --model ", model.id, "@VERSION");
  Store store(a.store, Store::Access::write);
  const StoredVersion added = store.add(
      {.model = model, .artifact = a.artifact, .replaces = a.replaces, .rows = a.rows, .signature = a.signature});
  if (const std::string beside = a.artifact + ".sig"; a.signature.empty() && std::filesystem::is_regular_file(beside))
    std::cerr << "remark: the store does not keep " << beside << "; --signature keeps it\n";
  if (a.json)
    std::cout << json_text(json_of(added)) << '\n';
  else
    std::cout << added.id << "@" << added.version << '\n';
}

void list(const Arguments& a) {
  const std::vector<StoredVersion> all = Store(a.store, Store::Access::read).list();
  if (!a.json) {
    for (const StoredVersion& v : all) {
      std::vector<std::string> kinds;
      for (const auto& o : v.facts.operations)
        if (std::ranges::count(kinds, o.kind) == 0) kinds.push_back(o.kind);
      std::cout << v.id << "@" << v.version << "  " << v.bytes << " bytes  " << joined(kinds);
      if (!v.facts.groups.empty()) std::cout << "  " << v.facts.groups.size() << " groups";
      std::cout << '\n';
    }
    return;
  }
  Json out = Json::array();
  for (const StoredVersion& v : all) out.push_back(json_of(v));
  std::cout << json_text({{"versions", out}}) << '\n';
}

void show(const Arguments& a) {
  const Store store(a.store, Store::Access::read);
  const StoredVersion version = store.find(gart::store::parse_reference(a.model));
  if (!a.json) return print_version(version);
  Json out = json_of(version);
  out["path"] = store.path_of(version);
  std::cout << json_text(out) << '\n';
}

void remove(const Arguments& a) {
  const Reference model = gart::store::parse_reference(a.model);
  const int64_t removed = Store(a.store, Store::Access::read).remove(model);
  std::cout << "removed " << removed << (removed == 1 ? " version\n" : " versions\n");
}

void verify(const Arguments& a) {
  Store store(a.store, Store::Access::read);
  const std::vector<std::string> faults = store.faults(a.cleans);
  for (const std::string& fault : faults) std::cerr << "gcc-graph: " << fault << '\n';
  if (!faults.empty()) throw CLI::RuntimeError(1);
  std::cout << "all " << store.list().size() << " versions are as they were added\n";
}

CLI::App* add_subcommand(CLI::App& app, const std::shared_ptr<Arguments>& a, const char* name, const char* purpose,
                         void (*action)(const Arguments&)) {
  CLI::App* c = app.add_subcommand(name, purpose);
  c->add_option("--store", a->store, "DIR: the folder of the store")->required();
  c->callback([a, action] { action(*a); });
  return c;
}

}  // namespace

void add_store_command(CLI::App& app) {
  CLI::App* c = app.add_subcommand("store", "Keep versions of models, by id, in a folder");
  c->require_subcommand(1);
  auto a = std::make_shared<Arguments>();
  const auto takes_model = [&](CLI::App* command, const char* text) {
    command->add_option("--model", a->model, text)->required();
  };
  const auto has_json = [&](CLI::App* command) { command->add_flag("--json", a->json, "Print JSON"); };
  CLI::App* adds = add_subcommand(*c, a, "add", "Verify an artifact and keep a copy of it", add);
  adds->add_option("artifact", a->artifact, "The .gart file")->required();
  takes_model(adds, "ID, for the next version, or ID@VERSION");
  adds->add_flag("--replace", a->replaces, "The version may exist: the new file replaces it");
  adds->add_option("--join-rows", a->rows,
                   "Rows along the first axis do not depend on each other: a server may run up to this many rows of "
                   "several requests at once")
      ->check(CLI::Range(int64_t{1}, kMostRows))
      ->capture_default_str();
  adds->add_option("--signature", a->signature,
                   "FILE: keep this signature of the artifact, as gcc-graph sign writes it; serve --trusted-key and "
                   "run --store --trusted-key read it");
  has_json(adds);
  has_json(add_subcommand(*c, a, "list", "List all versions", list));
  CLI::App* shows = add_subcommand(*c, a, "show", "Show a version: digest, entry points, groups and devices", show);
  takes_model(shows, "ID, for the latest version, or ID@VERSION");
  has_json(shows);
  takes_model(add_subcommand(*c, a, "remove", "Remove a version, or all versions of a model", remove),
              "ID, for all versions, or ID@VERSION");
  CLI::App* verifies = add_subcommand(*c, a, "verify", "Compare all files with those that were added", verify);
  verifies->add_flag("--clean", a->cleans, "Remove files that no version needs, which a process left when it died");
}

}  // namespace gcg::tools
