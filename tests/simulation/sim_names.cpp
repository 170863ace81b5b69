#include "tests/simulation/sim_names.hpp"

#include <algorithm>
#include <cerrno>
#include <set>

namespace mxkv::test {
namespace {

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

}  // namespace

int SimNames::make(const Change& change) {
  if (const int error = checked(change)) {
    return error;
  }
  changes_.push_back(change);
  if (!change.from.empty() && !change.to.empty()) {
    changes_.back().file = now_.at(change.from);  // the renamed file, whichever has that name after a cut
  }
  apply(changes_.back(), now_);
  return 0;
}

int SimNames::find(const std::string& path, std::shared_ptr<SimFile>& file) const {
  const auto found = now_.find(path);
  if (found == now_.end()) {
    return ENOENT;
  }
  file = found->second;
  return file == nullptr ? EISDIR : 0;
}

std::vector<std::string> SimNames::in(const std::string& directory) const {
  std::vector<std::string> names;
  for (const auto& [path, file] : now_) {
    if (parent_of(path) == directory) {
      names.push_back(directory.empty() ? path : path.substr(directory.size() + 1));
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<SimFile*> SimNames::files() const {
  std::vector<SimFile*> files;
  for (const auto& [path, file] : now_) {
    if (file != nullptr && std::find(files.begin(), files.end(), file.get()) == files.end()) {
      files.push_back(file.get());
    }
  }
  return files;
}

std::shared_ptr<SimFile> SimNames::exchange(const std::string& path, std::shared_ptr<SimFile> file) {
  const auto found = now_.find(path);
  std::shared_ptr<SimFile> before = found == now_.end() ? nullptr : found->second;
  if (file != nullptr) {
    now_[path] = std::move(file);
  } else if (found != now_.end()) {
    now_.erase(found);
  }
  return before;
}

void SimNames::sync(const std::string& directory) {
  std::erase_if(changes_, [this, &directory](const Change& change) {
    const bool is_of = parent_of(change.to.empty() ? change.from : change.to) == directory;
    return is_of && apply(change, durable_);
  });
}

void SimNames::cut(std::mt19937_64& random) {
  const std::size_t first = random() % (changes_.size() + 1);
  const bool in_order = random() % 2 == 0;
  for (std::size_t i = 0; i < changes_.size(); ++i) {
    if (in_order ? i < first : random() % 2 == 0) {
      apply(changes_[i], durable_);
    }
  }
  changes_.clear();
  now_ = durable_;
}

int SimNames::checked(const Change& change) const {
  if (!change.from.empty() && !now_.contains(change.from)) {
    return ENOENT;
  }
  if (change.to.empty()) {
    return has_entries(now_, change.from) ? ENOTEMPTY : 0;
  }
  if (!has(parent_of(change.to))) {
    return ENOENT;
  }
  return change.from.empty() && now_.contains(change.to) ? EEXIST : 0;
}

bool SimNames::has_entries(const Names& names, const std::string& directory) {
  const auto behind = names.upper_bound(directory + "/");
  return behind != names.end() && behind->first.starts_with(directory + "/");
}

/// False: there is nothing to change, as a change before this one did not happen.
bool SimNames::apply(const Change& change, Names& names) {
  const std::string parent = parent_of(change.to);
  const auto from = names.find(change.from);
  const bool renames_file = !change.from.empty() && change.file != nullptr;
  if ((!change.from.empty() && from == names.end() && !renames_file) ||
      (!parent.empty() && !names.contains(parent)) ||
      (change.to.empty() && has_entries(names, change.from))) {
    return false;
  }
  std::shared_ptr<SimFile> file = change.file;
  if (!change.from.empty() && from != names.end()) {
    file = renames_file ? file : from->second;
    if (from->second == file) {
      names.erase(from);
    }
  }
  if (!change.to.empty()) {
    names[change.to] = std::move(file);
  }
  return true;
}

}  // namespace mxkv::test
