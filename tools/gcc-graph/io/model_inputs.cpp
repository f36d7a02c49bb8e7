#include "tools/gcc-graph/io/model_inputs.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "gcc_graph/values.h"
#include "tools/gcc-graph/io/literal_tensor.h"
#include "tools/gcc-graph/options/parse_dim.h"
#include "tools/gcc-graph/options/parse_parallel.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {

void InputOptions::add_to(CLI::App& c) {
  auto* inputs = c.add_option("--inputs", npz, "F.npz: one array per input, by name");
  auto* single =
      c.add_option("--input", files,
                   "NAME=F.npy, NAME=F.pb, a picture (.png, .jpg), a sound (.wav, .flac), or NAME=NUMBER for all "
                   "elements; once per input");
  media.add_to(c);
  c.add_option("--random", random_seed, "SEED: random numbers for every input that is not given")
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()));
  c.add_option("--dim", dims,
               "NAME=VALUE: an open extent of inputs that are not read from files (default: the extent that given "
               "inputs have, else 1)");
  c.add_option("--entry", entry, "The entry point to run (default: the file's first)");
  c.add_option("--threads", threads, "Threads that share a run; 0: one per CPU")->check(CLI::Range(0, 1024));
  c.add_option("--parallel", parallel,
               "intra=N,inter=N,replicas=N: N threads for the tasks of a step, N for independent steps, and N runs at "
               "once, on a CPU; default: the file's mode for this number of threads (inspect)");
  c.add_flag_callback(
      "--no-spin", [this] { spin = false; }, "Waiting threads of a CPU sleep at once instead of keeping their cores");
  c.add_option("--target", target, "Use the code for this target instead of the best one for this machine");
  c.add_option("--device", device,
               "cpu, cpu:0-3 (these cores), cuda or cuda:1; default: the first GPU that the file has code for, "
               "otherwise the CPU");
  c.add_flag("--blocking", blocking, "On a GPU wait for each step, so that an error names one step");
  c.add_flag_callback("--no-verify", [this] { verify = false; }, "Do not check the digests of weights and code");
  trust.add_to(c);
  inputs->excludes(single);
}

std::span<const gart::TensorInfo> inputs_of(const gart::Program& program, const InputOptions& options) {
  const std::vector<std::string> names = program.entry_points();
  if (options.entry.empty() || std::find(names.begin(), names.end(), options.entry) != names.end())
    return program.inputs(options.entry);
  std::string known;
  for (const std::string& name : names) known += concat(known.empty() ? "'" : ", '", name, "'");
  fail("--entry ", options.entry, ": the file has no such entry point, only ", known);
}

namespace {

/// `source`: a path, or the bytes of the file.
template <class Source>
gart::Program load_from(const Source& source, const InputOptions& options) {
  gart::LoadOptions load;
  load.threads = options.threads;
  load.parallel = parse_parallel(options.parallel);
  load.spin = options.spin;
  load.target = options.target;
  load.device = options.device;
  load.verify = options.verify;
  load.blocking = options.blocking;
  const TrustOption::Read trusted = options.trust.read();
  load.trusted_keys = trusted.keys;
  load.signature = trusted.signature;
  return value_or_throw(gart::load(source, load));
}

}  // namespace

gart::Program load_program(const std::string& path, const InputOptions& options) { return load_from(path, options); }

gart::Program load_program(std::span<const uint8_t> file, const InputOptions& options) {
  return load_from(file, options);
}

namespace {

using SymbolValues = std::map<std::string, int64_t>;

SymbolValues symbol_values(std::span<const gart::TensorInfo> infos, const std::vector<std::string>& dims,
                           const SymbolValues& tensors) {
  std::set<std::string> known, requested;
  for (const gart::TensorInfo& info : infos)
    for (const std::string& d : info.dims) known.merge(gcc_graph::symbols_of_extent(d));
  SymbolValues values;
  for (const std::string& k : known) values[k] = tensors.count(k) != 0 ? tensors.at(k) : 1;
  for (const std::string& text : dims) {
    const auto [name, list] = parse_dim(text);
    if (!known.count(name)) {
      std::string names;
      for (const std::string& k : known) names += (names.empty() ? "" : ", ") + k;
      fail("--dim ", text, ": the model has no open extent '", name, "'", known.empty() ? "" : "; it has: ", names);
    }
    if (list.size() != 1) fail("--dim ", text, ": expected one value");
    values[name] = list[0];
    requested.insert(name);
  }
  // A symbol "seq_1" is another dimension that the model also calls "seq" (compiler/import/separate_names.h).
  for (const std::string& k : known) {
    const std::string name = k.substr(0, k.find_last_not_of("0123456789") == k.rfind('_') ? k.rfind('_') : k.size());
    if (requested.count(name) != 0 && requested.count(k) == 0 && tensors.count(k) == 0) values[k] = values[name];
  }
  return values;
}

/// Values of symbols, from the shapes of inputs that were read from files.
SymbolValues known_extents(std::span<const gart::TensorInfo> infos, const NamedTensors& tensors) {
  SymbolValues values;
  for (const gart::TensorInfo& info : infos) {
    const auto it = tensors.find(info.name);
    if (it == tensors.end() || it->second.shape.size() != info.dims.size()) continue;
    for (size_t d = 0; d < info.dims.size(); ++d)
      if (gcc_graph::symbols_of_extent(info.dims[d]).count(info.dims[d]) != 0)  // the extent is a single symbol
        values.emplace(info.dims[d], it->second.shape[d]);
  }
  return values;
}

/// The input's extents that a file does not decide: fixed ones, and those that --dim gives.
std::vector<std::optional<int64_t>> given_extents(const gart::TensorInfo& info, const std::vector<std::string>& dims) {
  std::map<std::string, int64_t> values;
  for (const auto& [name, list] : parse_dims(dims))
    if (list.size() == 1) values[name] = list[0];
  std::vector<std::optional<int64_t>> extents;
  for (const std::string& d : info.dims) {
    const std::set<std::string> symbols = gcc_graph::symbols_of_extent(d);
    const bool is_known = std::ranges::all_of(symbols, [&](const std::string& s) { return values.contains(s); });
    extents.push_back(is_known ? std::optional(gcc_graph::extent_value(d, values)) : std::nullopt);
  }
  return extents;
}

HostTensor read_media(std::span<const gart::TensorInfo> infos, const std::string& name, const std::string& path,
                      const InputOptions& options) {
  const auto info = std::find_if(infos.begin(), infos.end(), [&](const auto& i) { return i.name == name; });
  if (info == infos.end()) fail("the model has no input '", name, "'");
  return media_tensor(*info, given_extents(*info, options.dims), path, options.media);
}

/// Handles --input: reads arrays, pictures and sounds from files, and returns the texts of the other inputs.
std::map<std::string, std::string> read_inputs(std::span<const gart::TensorInfo> infos, const InputOptions& options,
                                               NamedTensors& tensors) {
  std::map<std::string, std::string> numbers;
  bool has_pictures = false, has_sounds = false;
  for (const std::string& text : options.files) {
    const auto eq = text.find('=');
    if (eq == std::string::npos || eq == 0) fail("--input ", text, ": expected NAME=FILE or NAME=NUMBER");
    const std::string name = text.substr(0, eq), value = text.substr(eq + 1);
    if (tensors.count(name) != 0 || numbers.count(name) != 0) fail("--input ", text, ": given twice");
    if (value.ends_with(".npy"))
      tensors.emplace(name, read_npy(value));
    else if (value.ends_with(".pb"))
      tensors.emplace(name, read_pb(value));
    else if (is_media(value)) {
      (is_sound(value) ? has_sounds : has_pictures) = true;
      tensors.emplace(name, read_media(infos, name, value, options));
    } else
      numbers.emplace(name, value);
  }
  options.media.check_use(has_pictures, has_sounds);
  return numbers;
}

std::vector<int64_t> shape_of(const gart::TensorInfo& info, const SymbolValues& values) {
  std::vector<int64_t> shape;
  for (const std::string& d : info.dims) shape.push_back(gcc_graph::extent_value(d, values));
  return shape;
}

/// Checks an array before its elements are read, so that an input with known extents never takes more memory than these
/// extents require.
void check_array(std::span<const gart::TensorInfo> infos, const std::string& name, gart::DType dtype,
                 const std::vector<int64_t>& shape) {
  const auto info = std::find_if(infos.begin(), infos.end(), [&](const auto& i) { return i.name == name; });
  if (info == infos.end()) fail("the model has no input '", name, "'");
  std::vector<int64_t> fixed;
  for (const std::string& extent : info->dims) {
    if (!gcc_graph::symbols_of_extent(extent).empty()) return;
    fixed.push_back(gcc_graph::extent_value(extent, {}));
  }
  const int64_t takes = checked_bytes(fixed, info->dtype, name), has = checked_bytes(shape, dtype, name);
  if (has > takes)
    fail("input '", name, "' must be ", info->text().substr(name.size() + 1), " of ", takes, " bytes; the array has ",
         has);
}

}  // namespace

NamedTensors collect_inputs(std::span<const gart::TensorInfo> infos, const InputOptions& options) {
  NamedTensors tensors;
  if (!options.npz.empty())
    tensors = read_npz(options.npz, [&](const std::string& name, gart::DType dtype, const std::vector<int64_t>& shape) {
      check_array(infos, name, dtype, shape);
    });
  const std::map<std::string, std::string> numbers = read_inputs(infos, options, tensors);
  std::set<std::string> names;
  for (const gart::TensorInfo& info : infos) names.insert(info.name);
  for (const auto& [name, tensor] : tensors)
    if (!names.count(name)) fail("the model has no input '", name, "'");
  for (const auto& [name, text] : numbers)
    if (!names.count(name)) fail("the model has no input '", name, "'");
  const auto seed = static_cast<uint64_t>(std::max<int64_t>(options.random_seed, 0));
  const bool random = options.random_seed >= 0 || !options.dims.empty();
  const SymbolValues values = symbol_values(infos, options.dims, known_extents(infos, tensors));
  for (const gart::TensorInfo& info : infos) {
    if (tensors.count(info.name)) continue;
    if (const auto it = numbers.find(info.name); it != numbers.end())
      tensors.emplace(info.name, literal_tensor(info, shape_of(info, values), it->second));
    else if (random)
      tensors.emplace(info.name, random_tensor(info, shape_of(info, values), seed));
    else
      fail("input '", info.name, "' is missing; give it with --inputs or --input, or use --random SEED");
  }
  return tensors;
}

}  // namespace gcg::tools
