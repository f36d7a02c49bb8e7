// One function per sub-command; each adds itself to the application.
#pragma once

namespace CLI {
class App;
}

namespace gcg::tools {

void add_compile_command(CLI::App& app);
void add_tune_command(CLI::App& app);
void add_place_command(CLI::App& app);
void add_run_command(CLI::App& app);
void add_generate_command(CLI::App& app);
void add_bench_command(CLI::App& app);
void add_train_command(CLI::App& app);
void add_state_command(CLI::App& app);
void add_store_command(CLI::App& app);
void add_serve_command(CLI::App& app);
void add_inspect_command(CLI::App& app);
void add_check_command(CLI::App& app);
void add_compare_command(CLI::App& app);
void add_sign_commands(CLI::App& app);
void add_function_command(CLI::App& app);
void add_operators_command(CLI::App& app);
void add_devices_command(CLI::App& app);
void add_doctor_command(CLI::App& app);
void add_manual_command(CLI::App& app);

}  // namespace gcg::tools
