// Completion scripts of shells and manual pages, made from the options of the program.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "tools/gcc-graph/commands/commands.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* c) { return !c->get_name().empty(); });
}

std::string options_of(const CLI::App& c) {
  std::string all;
  for (const CLI::Option* o : c.get_options())
    for (const std::string& name : o->get_lnames()) all += concat(all.empty() ? "--" : " --", name);
  return all;
}

/// Completes file names after most options, and commands after the program's name.
void print_bash(const CLI::App& app) {
  std::string names;
  for (const CLI::App* c : commands_of(app)) names += concat(names.empty() ? "" : " ", c->get_name());
  std::cout << "# bash completion of gcc-graph\n_gcc_graph() {\n  local word=${COMP_WORDS[COMP_CWORD]}\n"
            << "  if [ \"$COMP_CWORD\" = 1 ]; then\n    COMPREPLY=($(compgen -W '" << names
            << " --help --version' -- \"$word\"))\n    return\n  fi\n  case $word in\n    -*) ;;\n"
            << "    *) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n  esac\n  case ${COMP_WORDS[1]} in\n";
  for (const CLI::App* c : commands_of(app)) {
    std::string words = options_of(*c);
    for (const CLI::App* inner : commands_of(*c)) words += concat(" ", inner->get_name(), " ", options_of(*inner));
    std::cout << "    " << c->get_name() << ") COMPREPLY=($(compgen -W '" << words << "' -- \"$word\")) ;;\n";
  }
  std::cout << "  esac\n}\ncomplete -o filenames -F _gcc_graph gcc-graph\n";
}

/// Text for roff: no line begins with a control character, and hyphens stay hyphens.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
    out += c == '\\' ? std::string("\\e") : c == '-' ? std::string("\\-") : std::string(1, c);
  }
  return out;
}

void print_options(const CLI::App& c) {
  for (const CLI::Option* o : c.get_options()) {
    const std::string value = o->get_type_size() == 0 || o->get_type_name().empty() ? "" : o->get_type_name();
    std::cout << ".TP\n.B " << roff(o->get_name(o->get_positional(), true))
              << (value.empty() ? "" : " \\fI" + roff(value) + "\\fR") << "\n"
              << roff(o->get_description()) << "\n";
  }
}

void print_manual(const CLI::App& app, const std::string& version) {
  std::cout << ".TH GCC\\-GRAPH 1 \"\" \"gcc\\-graph " << roff(version) << "\"\n.SH NAME\ngcc\\-graph \\- "
            << roff("ONNX models to machine code in one file")
            << "\n.SH SYNOPSIS\n.B gcc\\-graph\n.I COMMAND\n[options]\n";
  for (const CLI::App* c : commands_of(app)) {
    std::cout << ".SH " << roff(c->get_name()) << "\n" << roff(c->get_description()) << "\n";
    print_options(*c);
    for (const CLI::App* inner : commands_of(*c)) {
      std::cout << ".SS " << roff(c->get_name() + " " + inner->get_name()) << "\n"
                << roff(inner->get_description()) << "\n";
      print_options(*inner);
    }
    if (!c->get_footer().empty()) std::cout << ".PP\n.nf\n" << roff(c->get_footer()) << "\n.fi\n";
  }
}

}  // namespace

void add_manual_command(CLI::App& app) {
  struct Arguments {
    std::string form;
  };
  auto a = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand("manual", "Print the manual page, or the completion script of a shell");
  c->add_option("form", a->form, "man, or bash (zsh takes it after bashcompinit)")
      ->required()
      ->check(CLI::IsMember({"man", "bash"}));
  c->footer("Example: source <(gcc-graph manual bash); gcc-graph manual man | man -l -");
  c->callback([a, &app] {
    if (a->form == "bash")
      print_bash(app);
    else
      print_manual(app, app.version());
  });
}

}  // namespace gcg::tools
