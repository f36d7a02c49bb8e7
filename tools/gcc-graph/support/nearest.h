// Suggestions for misspelt words.
#pragma once

#include <string>
#include <vector>

namespace gcg::tools {

/// " (did you mean 'compile'?)" for the word that differs from `word` in the fewest letters, if these are at most two
/// and at most a third of them; otherwise an empty text.
std::string suggestion(const std::string& word, const std::vector<std::string>& words);

}  // namespace gcg::tools
