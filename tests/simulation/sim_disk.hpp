// A disk that loses power, fails and fills up, for files written through server::Disk.
//
// Names and bytes are in memory, each as it is now and as it is on disk for certain. power_cut() decides
// freely about everything that was not synced: sectors are old, new or garbage (sim_file.hpp), changes of
// names happened or not (sim_names.hpp). kill() ends the process only: all written bytes stay, uncertain as
// they are.
//
// Each operation is a step. A hook sees it first, and the power may go off at any: that step and all later ones
// fail with EIO, with whatever part of it happened, until power_cut() gives the power back.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "server/journal/disk.hpp"
#include "tests/simulation/sim_file.hpp"
#include "tests/simulation/sim_names.hpp"

namespace mxkv::test {

/// The step that is about to be done.
struct SimStep {
  enum class kind : std::uint8_t {
    lock,
    create,
    open,
    write,
    sync,
    allocate,
    rename,
    remove,
    link,
    directory,
    names
  };
  kind what;
  std::string path;
  std::uint64_t number = 0;  ///< from 1 on
};

/// Thread-safety: any thread; the hook is called by the thread that makes the step, and does not throw.
class SimDisk final : public server::Disk {
 public:
  /// `seed`: of short writes.
  explicit SimDisk(std::uint64_t seed = 1) : random_(seed) {}

  // Faults. All may be changed at any time.

  void on_step(std::function<void(const SimStep&)> hook) { hook_ = std::move(hook); }
  /// That step, and all behind it, fail. 0: none does.
  void power_off_at(std::uint64_t step);
  /// The power is off from now on, also for the step that the hook sees.
  void power_off();
  /// The power is back, and all that was uncertain is decided. Files that were open fail from then on.
  void power_cut(std::uint64_t seed);
  /// The process ended: files that were open fail, locks are free, written bytes stay.
  void kill();
  /// Bytes of all files together, by their lengths; more is ENOSPC, at the byte where it gets too much.
  void set_quota(std::uint64_t bytes);
  /// No room from now on except what files give back.
  void fill_up();
  /// Writes take only a part of their bytes, every other time.
  void write_short(bool is_wanted);
  void fail_writes(unsigned count, int error);
  /// Syncs fail so many times; later ones succeed and do not write the sectors of the failed ones.
  void fail_syncs(unsigned count, int error);

  /// While no process runs, and regardless of all uncertain changes: gives the name to another file; null: to
  /// none. Returns the file that had it.
  std::shared_ptr<SimFile> exchange(const std::string& path, std::shared_ptr<SimFile> file);

  [[nodiscard]] std::uint64_t steps() const;
  [[nodiscard]] bool is_off() const;

  // Disk: functions that change names, open files, and look at directories.

  [[nodiscard]] int create(const std::string& path, std::unique_ptr<server::DiskFile>& file) override;
  [[nodiscard]] int rename(const std::string& from, const std::string& to) override;
  [[nodiscard]] int link(const std::string& from, const std::string& to) override;
  [[nodiscard]] int remove(const std::string& path) override;
  [[nodiscard]] int remove_directory(const std::string& path) override;
  [[nodiscard]] int create_directory(const std::string& path) override;

  [[nodiscard]] int open(const std::string& path, std::unique_ptr<server::DiskFile>& file) override;
  [[nodiscard]] int lock(const std::string& path, std::unique_ptr<server::DiskFile>& lock) override;
  [[nodiscard]] int read(const std::string& path, std::unique_ptr<server::DiskBytes>& bytes) override;
  [[nodiscard]] int open_reader(const std::string& path, std::unique_ptr<server::DiskReader>& file) override;

  [[nodiscard]] int sync_directory(const std::string& path) override;
  [[nodiscard]] int list(const std::string& path, std::vector<std::string>& names) override;
  [[nodiscard]] std::string text(const std::string& path, int error) const override;

 private:
  class Open;
  class Reader;
  enum class power : std::uint8_t { on, failing, off };

  /// Counts a step and tells the hook. Failing: this step is the last, and may happen or not.
  power step(SimStep::kind what, const std::string& path);
  [[nodiscard]] int change(SimStep::kind what, const std::string& path, const SimNames::Change& change);
  [[nodiscard]] std::uint64_t used_bytes() const;
  [[nodiscard]] std::unique_ptr<server::DiskFile> opened(const std::string& path,
                                                         std::shared_ptr<SimFile> file, bool locks);

  mutable std::recursive_mutex mutex_;  ///< recursive: a file that is opened may replace one that closes
  std::mt19937_64 random_;
  std::function<void(const SimStep&)> hook_;
  SimNames names_;
  std::set<std::string> locked_;
  std::uint64_t life_ = 0;  ///< files of an earlier one are closed
  std::uint64_t steps_ = 0;
  std::uint64_t off_at_ = 0;
  std::uint64_t quota_ = ~std::uint64_t{0};
  unsigned failing_writes_ = 0;
  unsigned failing_syncs_ = 0;
  int write_error_ = 0;
  int sync_error_ = 0;
  bool short_writes_ = false;
};

}  // namespace mxkv::test
