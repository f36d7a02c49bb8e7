#pragma once

namespace CLI {
class App;
}

namespace gcg::tools {

/// Ends the help of every command with an example and the exit codes.
void add_examples(CLI::App& app);

}  // namespace gcg::tools
