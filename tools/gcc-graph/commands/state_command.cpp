#include <CLI/CLI.hpp>
#include <iostream>

#include "gart/gart.hpp"
#include "tools/gcc-graph/commands/commands.h"
#include "tools/gcc-graph/io/first_values.h"
#include "tools/gcc-graph/io/model_inputs.h"
#include "tools/gcc-graph/io/write_file.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

struct Arguments {
  std::string artifact, states, output;
  InputOptions load;
};

gart::Program program_with_states(const Arguments& a) {
  gart::Program program = load_program(a.artifact, a.load);
  if (program.program_states().empty()) fail(a.artifact, ": the model keeps no states of its own");
  return program;
}

void export_states(const Arguments& a) {
  check_writable(a.output);
  value_or_throw(program_with_states(a).save_states(a.output));
}

void import_states(const Arguments& a) {
  check_writable(a.output);
  const gart::Program program = program_with_states(a);
  value_or_throw(program.load_states(a.states));
  write_with_states(a.artifact, a.load.trust, program, a.output);
}

void add_device_options(CLI::App& c, Arguments& a) {
  c.add_option("artifact", a.artifact, "The .gart file")->required();
  c.add_option("--device", a.load.device,
               "Where the file is loaded: cpu, cuda (default: the best device it has code for)");
  a.load.trust.add_to(c);
}

}  // namespace

void add_state_command(CLI::App& app) {
  CLI::App* c = app.add_subcommand("state", "Read or replace the values that a model's own states begin with");
  c->require_subcommand(1);
  auto a = std::make_shared<Arguments>();
  CLI::App* out = c->add_subcommand("export", "Write the values to a safetensors file");
  add_device_options(*out, *a);
  out->add_option("-o,--output", a->output, "F.safetensors")->required();
  out->callback([a] { export_states(*a); });
  CLI::App* in = c->add_subcommand("import", "Write the artifact with the values of a safetensors file");
  add_device_options(*in, *a);
  in->add_option("states", a->states, "F.safetensors; a state that it lacks keeps its value")->required();
  in->add_option("-o,--output", a->output, "The .gart file to write; may be the same")->required();
  in->callback([a] { import_states(*a); });
}

}  // namespace gcg::tools
