#include "protocol/clients/cli/transfer/importer.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <deque>
#include <filesystem>
#include <fstream>

#include "protocol/clients/cli/failure.hpp"
#include "protocol/clients/cli/transfer/pacer.hpp"
#include "protocol/clients/cli/transfer/progress.hpp"
#include "protocol/clients/cli/wire/stats_reply.hpp"
#include "protocol/command_table.hpp"

namespace mxkv::cli {
namespace {

/// Requests per group, and groups in flight: enough that neither side waits, too few to fill the server's buffers with
/// their replies.
constexpr std::size_t kGroupBytes = std::size_t{128} * 1024;
constexpr std::size_t kGroupItems = 1000;
constexpr std::size_t kGroupsInFlight = 4;

struct Group {
  std::uint64_t last = 0;  ///< the number of its last item
  std::string place;       ///< the place of that item in the file
};

class Import {
 public:
  Import(Connection& server, const ImportOptions& options, InputFile& file)
      : server_(server), options_(options), file_(file), pacer_(options.rate), progress_(options.progress) {
    const double most = read_stats(server, "settings").number("item_size_max");
    most_value_ = most > 0 ? static_cast<std::uint64_t>(most) : UINT64_MAX;
  }

  TransferReport run(std::uint64_t skip) {
    try {
      store_all(skip);
      take_all_answers();
    } catch (const Failure& failure) {
      const bool goes_wrong_in_file = of_file_ && failure.outcome() != Outcome::interrupted;
      give_up(goes_wrong_in_file ? store_items_before(failure) : failure);
    }
    forget();
    report_.seconds = progress_.seconds();
    return report_;
  }

 private:
  void take_all_answers() {
    finish_group();
    while (!in_flight_.empty()) {
      take_answers();
    }
  }

  /// The file is damaged at an item; the items before it are good. Returns the first failure of the file.
  Failure store_items_before(const Failure& of_file) {
    try {
      take_all_answers();
      return of_file;
    } catch (const Failure& of_server) {
      return of_server;
    }
  }

  void store_all(std::uint64_t skip) {
    const auto reader = open_dump(file_);
    Item item;
    for (of_file_ = true; reader->next(item); of_file_ = true) {
      ++report_.totals.items;
      report_.totals.bytes += item.key.size() + item.value.size();
      if (report_.totals.items <= skip) {
        ++report_.before;
        done_ = report_.totals.items;
        continue;
      }
      if (item.value.size() > most_value_) {
        throw Failure(Outcome::refused, reader->place() + ": the value has " +
                                            std::to_string(item.value.size()) + " bytes, the server takes " +
                                            std::to_string(most_value_) + " (limits.value_bytes)");
      }
      place_ = reader->place();
      of_file_ = false;
      add(item);
      if (requests_.size() >= kGroupBytes || grouped_ >= kGroupItems) {
        finish_group();
      }
    }
    of_file_ = false;
  }

  void add(const Item& item) {
    ++grouped_;
    last_added_ = report_.totals.items;
    const auto now = static_cast<std::uint64_t>(std::time(nullptr));
    if (item.expires != 0 && item.expires <= now) {
      ++report_.expired;
      return;
    }
    StoreOptions store = {.mode = options_.mode, .flags = item.flags, .quiet = true};
    if (item.expires != 0) {
      // As seconds from now if the server would read it so: its clock and ours may differ.
      constexpr std::uint64_t kMostSeconds = std::uint64_t{30} * 24 * 3600;
      const std::uint64_t left = item.expires - now;
      const std::uint64_t seconds = left <= kMostSeconds ? left : item.expires;
      store.seconds = static_cast<std::int64_t>(std::min<std::uint64_t>(seconds, INT64_MAX));
    }
    if (options_.unique && item.unique != 0) {
      store.unique = item.unique;
    }
    append_store(requests_, item.key, item.value, store);
  }

  void finish_group() {
    if (grouped_ == 0) {
      return;
    }
    requests_ += std::string(protocol::name_of(protocol::verb::meta_noop)) + "\r\n";
    server_.send(requests_);
    in_flight_.push_back({last_added_, place_});
    requests_.clear();
    grouped_ = 0;
    if (in_flight_.size() >= kGroupsInFlight ||
        options_.rate > 0) {  // with --rate throughput does not matter, so errors are noticed early
      take_answers();
    }
    const double share =
        file_.size() == 0 ? -1 : static_cast<double>(file_.offset()) / static_cast<double>(file_.size());
    if (progress_.tell(report_.totals.items, report_.totals.bytes, share)) {
      remember();
    }
    pacer_.wait_until_due(report_.totals.items - report_.before);
  }

  /// Reads the replies to the oldest group: only failures are replied, and `mn` ends the group.
  void take_answers() {
    for (;;) {
      const MetaReply reply = server_.reply();
      if (reply.code == "MN") {
        done_ = in_flight_.front().last;
        in_flight_.pop_front();
        return;
      }
      if (reply.code == "NS" || reply.code == "EX" || reply.code == "NF") {
        ++report_.kept;
        continue;
      }
      throw Failure(Outcome::refused, "items " + std::to_string(done_ + 1) + " to " +
                                          std::to_string(in_flight_.front().last) + " (up to " +
                                          in_flight_.front().place +
                                          "): the server replied: " + std::string(reply.line));
    }
  }

  [[nodiscard]] bool resumable() const { return options_.path != "-"; }

  void remember() const {
    if (!resumable()) {
      return;
    }
    const std::string name = resume_name(options_.path);
    std::ofstream(name + ".new") << "items " << done_ << "\nbytes " << file_.size() << '\n';
    std::error_code ignored;  // the file is only a help: the failure names the number, too
    std::filesystem::rename(name + ".new", name, ignored);
  }
  void forget() const {
    std::error_code ignored;
    std::filesystem::remove(resume_name(options_.path), ignored);
  }

  [[noreturn]] void give_up(const Failure& failure) const {
    remember();
    // Items in flight have no reply of their own: the server reports failures, and where a group ends.
    const bool more = !in_flight_.empty();
    throw Failure(failure.outcome(), std::string(failure.what()) + "; the first " + std::to_string(done_) +
                                         " items are stored" +
                                         (more ? ", and maybe some after them; " : "; ") +
                                         (resumable() ? "--resume" : "--skip " + std::to_string(done_)) +
                                         " continues after them");
  }

  Connection& server_;
  const ImportOptions& options_;
  InputFile& file_;
  Pacer pacer_;
  Progress progress_;
  TransferReport report_;
  std::uint64_t most_value_ = 0;
  std::string requests_;
  std::size_t grouped_ = 0;
  std::string place_;
  std::deque<Group> in_flight_;
  std::uint64_t last_added_ = 0;  ///< the number of the last item that was added to a group
  std::uint64_t done_ = 0;        ///< items whose replies were read
  bool of_file_ = false;          ///< the failure is the file's, not the server's
};

TransferReport verify(InputFile& file, bool shown) {
  TransferReport report;
  Progress progress(shown);
  const auto reader = open_dump(file);
  Item item;
  while (reader->next(item)) {
    ++report.totals.items;
    report.totals.bytes += item.key.size() + item.value.size();
  }
  report.seconds = progress.seconds();
  return report;
}

std::uint64_t remembered(const ImportOptions& options, const InputFile& file) {
  const std::string name = resume_name(options.path);
  std::ifstream input(name);
  std::string word;
  std::uint64_t items = 0;
  std::uint64_t bytes = 0;
  if (!(input >> word >> items >> word >> bytes)) {
    throw Failure(Outcome::file, name + ": cannot be read, so there is nothing to resume");
  }
  if (bytes != file.size()) {
    throw Failure(Outcome::file, name + ": belongs to another file: " + std::to_string(bytes) +
                                     " bytes, not " + std::to_string(file.size()));
  }
  return items;
}

}  // namespace

std::string resume_name(const std::string& path) {
  return path + ".resume";
}

TransferReport import_items(const std::function<Connection&()>& connect, const ImportOptions& options) {
  InputFile file(options.path);
  if (options.dry_run || (!options.unverified && file.size() != 0)) {
    const TransferReport report = verify(file, options.progress);
    if (options.dry_run) {
      return report;
    }
    if (!file.rewind()) {
      throw Failure(Outcome::file,
                    options.path + ": cannot be read twice (first to check it); see --unverified");
    }
  }
  const std::uint64_t skip = options.resume ? remembered(options, file) : options.skip;
  return Import(connect(), options, file).run(skip);
}

}  // namespace mxkv::cli
