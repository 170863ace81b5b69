#include "bench/index/session.hpp"

#include <algorithm>
#include <atomic>

#include "bench/index/keys.hpp"

namespace mxkv::bench {
namespace {

constexpr std::size_t kZipfianDraws = std::size_t{1} << 22U;

/// A container, measured in turn with the others.
struct Series {
  Container* container;
  unsigned in_flight;
  Row row;
};

class Session {
 public:
  Session(const Plan& plan, std::uint64_t records, unsigned workers, Containers& containers,
          const Print& print)
      : plan_(plan),
        records_(records),
        workers_(workers),
        containers_(containers),
        print_(print),
        held_(containers.size(), 0) {}

  std::string run() {
    load();
    for (const distribution which : {distribution::uniform, distribution::zipfian}) {
      std::vector<Stream> streams = streams_of(which);
      for (const workload what : {workload::read, workload::mixed, workload::scan}) {
        measure(what, which, streams);
      }
    }
    std::vector<Stream> streams = streams_of(distribution::uniform);
    for (const distribution which : {distribution::uniform, distribution::ascending}) {
      measure(workload::insert, which, streams);
    }
    return faults();
  }

 private:
  [[nodiscard]] std::vector<Stream> streams_of(distribution which) const {
    std::vector<Stream> streams;
    for (unsigned i = 0; i < workers_; ++i) {
      if (which == distribution::uniform) {
        streams.emplace_back(records_, i + 1);
      } else {
        streams.emplace_back(records_, i + 1, std::min<std::size_t>(kZipfianDraws, records_));
      }
    }
    return streams;
  }

  [[nodiscard]] Row row_of(const Container& container, const std::string& what, const std::string& by,
                           unsigned in_flight, const std::string& unit) const {
    return {plan_.records, container.name(), what, by, workers_, in_flight, unit, {}};
  }

  /// Loads all containers, with one worker if a container cannot be loaded by several.
  void load() {
    std::vector<Stream> streams = streams_of(distribution::uniform);
    for (std::size_t i = 0; i < containers_.size(); ++i) {
      Container& container = *containers_[i];
      const bool shared = container.can(workload::load, workers_);
      const unsigned loaders = shared ? workers_ : 1;
      if (!container.can(workload::load, loaders)) {
        continue;
      }
      const unsigned in_flight = container.has_flights() ? plan_.few_flights.back() : 1;
      const double seconds =
          container.run({workload::load, &streams, loaders, records_ / loaders, in_flight, 0});
      held_[i] = records_;
      if (shared && plan_.wants(workload::load)) {
        Row row = row_of(container, name_of(workload::load), "random order", in_flight, "million/s");
        row.rounds.push_back(static_cast<double>(records_) / seconds / 1e6);
        print_(row);
      }
      for (const Part& part : workers_ == 1 ? container.parts(records_) : std::vector<Part>{}) {
        Row row = row_of(container, "bytes an entry", part.name, 1, "bytes");
        row.rounds.push_back(part.bytes);
        print_(row);
      }
    }
  }

  void measure(workload what, distribution which, std::vector<Stream>& streams) {
    if (!plan_.wants(what)) {
      return;
    }
    const auto& flights = what == workload::read ? plan_.flights : plan_.few_flights;
    std::vector<Series> all;
    for (const auto& container : containers_) {
      if (!container->can(what, workers_)) {
        continue;
      }
      for (const unsigned in_flight : container->has_flights() ? flights : std::vector<unsigned>{1}) {
        all.push_back({container.get(), in_flight,
                       row_of(*container, name_of(what), name_of(which), in_flight, "million/s")});
      }
    }
    for (std::uint64_t round = 0; round < plan_.rounds; ++round) {
      for (Series& series : all) {
        series.row.rounds.push_back(rate(series, what, which, streams));
      }
    }
    for (const Series& series : all) {
      print_(series.row);
    }
  }

  /// Million operations a second, of all workers together.
  double rate(const Series& series, workload what, distribution which, std::vector<Stream>& streams) {
    Job job{what, &streams, workers_, 0, series.in_flight};
    if (what == workload::insert) {
      const auto at = std::find_if(containers_.begin(), containers_.end(), [&series](const auto& container) {
        return container.get() == series.container;
      });
      std::uint64_t& held = held_[static_cast<std::size_t>(at - containers_.begin())];
      job.operations = plan_.inserts / workers_;
      job.first_new = held;
      std::atomic<std::uint64_t> next_new{kFirstAscending + kHalfAscending + held};
      if (which == distribution::ascending) {
        job.first_new = next_new.load(std::memory_order_relaxed);
        job.next_new = &next_new;
      }
      held += job.operations * workers_;
      return static_cast<double>(job.operations * workers_) / series.container->run(job) / 1e6;
    }
    job.operations = std::max<std::uint64_t>(1, chunk() / (what == workload::scan ? kScanEntries / 2 : 1));
    double seconds = 0;
    std::uint64_t operations = 0;
    do {
      seconds += series.container->run(job);
      operations += job.operations * workers_;
    } while (seconds * 1e3 < static_cast<double>(plan_.milliseconds));
    return static_cast<double>(operations) / seconds / 1e6;
  }
  /// Operations of a worker between two readings of the clock: so many that beginning and end hardly count.
  [[nodiscard]] std::uint64_t chunk() const noexcept {
    constexpr std::uint64_t kMost = 100'000;
    return std::min(kMost, plan_.inserts);
  }

  [[nodiscard]] std::string faults() {
    std::string faults;
    for (std::size_t i = 0; i < containers_.size(); ++i) {
      Container& container = *containers_[i];
      const std::string who = plan_.records + ", " + container.name() + ": ";
      if (container.wrong() > 0) {
        faults += who + std::to_string(container.wrong()) + " wrong results\n";
      }
      if (const std::string found = container.check(held_[i]); !found.empty()) {
        faults += who + found + "\n";
      }
    }
    return faults;
  }

  const Plan& plan_;
  std::uint64_t records_;
  unsigned workers_;
  Containers& containers_;
  const Print& print_;
  std::vector<std::uint64_t> held_;  ///< records in each container
};

}  // namespace

std::string run_session(const Plan& plan, std::uint64_t records, unsigned workers, Containers& containers,
                        const Print& print) {
  return Session{plan, records - records % workers, workers, containers, print}.run();
}

}  // namespace mxkv::bench
