// The requests of a simulated store's clients: as text, and as records.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/random.hpp"
#include "tests/simulation/store_keys.hpp"

namespace mxkv::simulation {

/// The keys, and the kinds of requests for them.
struct RequestOptions {
  std::size_t keys = kMostHistoryKeys;
  std::size_t others = 0;  ///< between two keys
  bool bank = false;       ///< amounts are moved, and nothing else changes a number
  bool expiry = false;     ///< items that expire soon are stored
  bool flushes = false;
  bool probes = false;       ///< some clients only ask whether keys are there
  bool bursts = false;       ///< requests that depend on each other are sent at once
  bool reads = false;        ///< and runs of reads
  bool quiet = false;        ///< some of those want no answer to a success
  bool pages = false;        ///< ranges are paged to their end
  bool erases = false;       ///< ranges are removed often
  bool runs_expire = false;  ///< runs of other keys are stored that expire soon
  bool long_keys = false;
  unsigned operations_in_8 = 4;  ///< of many keys
  std::uint64_t begin_number = 1000;
};

/// How the end of a reply is recognised.
enum class reply_shape : std::uint8_t { classic_value, classic_page, line, meta_page, batch };

/// A page among the pages of a range.
struct Paging {
  bool wanted = false;
  std::string flags{};    ///< of each page
  std::string near{};     ///< the bound behind which all keys lie; empty: none
  bool included = false;  ///< or at
  std::string cursor{};   ///< in the reply; empty: this was the last page
  std::uint8_t last = 0;  ///< key of the history that the range ends before, forward
  std::size_t pages = 1;  ///< with this one
};

struct StoreRequest {
  std::string text{};
  reply_shape shape = reply_shape::line;
  bool recorded = true;     ///< in the history
  bool backward = false;    ///< a page
  bool silent = false;      ///< noreply: no reply ever comes
  std::uint64_t limit = 0;  ///< of a classic page
  std::string opaque{};     ///< quiet: a success has no reply; other replies have this
  Paging paging{};
  Operation op{};
};

/// Thread-safety: one thread.
class StoreRequests {
 public:
  StoreRequests(runtime::Random& random, const RequestOptions& options, const StoreKeys& keys)
      : random_(random), options_(options), keys_(keys) {}

  /// `now_s`: unix seconds.
  [[nodiscard]] StoreRequest draw(std::uint64_t now_s);
  /// Several requests that a client sends at once, of which later ones depend on earlier ones.
  [[nodiscard]] std::vector<StoreRequest> draw_burst(std::uint64_t now_s);
  /// The page behind one whose reply had a cursor.
  [[nodiscard]] static StoreRequest next_page(const StoreRequest& page);
  /// Asks whether a key is there, as a write that never writes.
  [[nodiscard]] StoreRequest draw_probe();
  /// Stores each key and other that is there at the beginning.
  [[nodiscard]] std::vector<StoreRequest> first_requests();
  /// Shows all keys at one moment.
  [[nodiscard]] StoreRequest last_request();

 private:
  static constexpr std::uint32_t kFarSeconds = 1'000'000;
  /// A range of keys from `first` up to but without `last`.
  struct Span {
    std::uint8_t first;
    std::uint8_t last;
    std::string text;
  };

  [[nodiscard]] bool one_in(std::uint64_t n) { return random_.below(n) == 0; }
  [[nodiscard]] std::uint8_t some_key() {
    return static_cast<std::uint8_t>(random_.below(keys_.names.size()));
  }
  [[nodiscard]] std::string some_other();
  [[nodiscard]] std::uint32_t some_expiry(std::uint64_t now_s);
  /// Fills in the other fields of a command on a key.
  void fill_in(CommandLine& line, std::uint64_t now_s);
  [[nodiscard]] CommandLine some_line(std::uint64_t now_s);
  [[nodiscard]] StoreRequest draw_line(std::uint64_t now_s);
  [[nodiscard]] StoreRequest draw_other();
  [[nodiscard]] StoreRequest of_line(const CommandLine& line, bool may_be_quiet);
  [[nodiscard]] CommandLine dependent_line(std::uint8_t key, std::uint64_t now_s);
  void add_dependent(std::vector<StoreRequest>& all, std::uint64_t now_s);
  void add_run(std::vector<StoreRequest>& all, std::uint8_t key, std::uint64_t now_s);
  void add_reads(std::vector<StoreRequest>& all);
  void add_sets(std::vector<StoreRequest>& all);
  void add_run_removed(std::vector<StoreRequest>& all, std::uint8_t key);
  [[nodiscard]] StoreRequest other_request(std::string line, std::string_view value);
  [[nodiscard]] StoreRequest draw_open_page();
  [[nodiscard]] StoreRequest draw_batch(std::uint64_t now_s);
  [[nodiscard]] StoreRequest draw_transfer();
  [[nodiscard]] StoreRequest draw_range(std::uint64_t now_s);
  [[nodiscard]] StoreRequest draw_flush();
  [[nodiscard]] Span some_span(bool backward);
  [[nodiscard]] Span whole_span(bool backward, bool bounded) const;
  void draw_page(StoreRequest& request);
  void draw_scan(StoreRequest& request);

  runtime::Random& random_;
  const RequestOptions& options_;
  const StoreKeys& keys_;
  std::uint64_t next_number_ = 1;
  std::uint64_t next_opaque_ = 1;
  static constexpr std::uint64_t kMostAppends = 8;  ///< of a key: its number gets no longer than 64 bits
  std::array<std::uint64_t, kMostHistoryKeys> appends_{};
};

/// A command as meta or classic text. `more`: flags, or words, behind it.
[[nodiscard]] std::string meta_text(const CommandLine& line, const StoreKeys& keys,
                                    const std::string& more = {});
[[nodiscard]] std::string classic_text(const CommandLine& line, const StoreKeys& keys,
                                       const std::string& more = {});

}  // namespace mxkv::simulation
