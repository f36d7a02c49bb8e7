// --dim NAME=VALUE[,VALUE...]
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gcg::tools {

/// "batch=1,8" -> {"batch", {1, 8}}. Fails with one sentence if the text has another format.
std::pair<std::string, std::vector<int64_t>> parse_dim(const std::string& text);

/// Fails if a name occurs twice. `option`: the option that the names belong to.
void check_unique(const std::vector<std::string>& names, const char* option);

/// Parses all --dim options. Each name and each value may occur once.
std::vector<std::pair<std::string, std::vector<int64_t>>> parse_dims(const std::vector<std::string>& texts);

/// "64M" -> 67108864. Suffixes K, M, G are powers of 1024.
int64_t parse_bytes(const std::string& text);

}  // namespace gcg::tools
