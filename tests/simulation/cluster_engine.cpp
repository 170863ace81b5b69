#include "tests/simulation/cluster_engine.hpp"

#include <algorithm>
#include <memory>

namespace mxkv::simulation {

using server::append_outcome;
using server::Appended;
using server::LogPosition;

bool Timeline::step() {
  if (actions_.empty()) {
    return false;
  }
  auto first = actions_.extract(actions_.begin());
  now_ns_ = first.key().first;
  first.mapped()();
  return true;
}

LogPosition ClusterEngine::store(std::string bytes) {
  log_.push_back({std::move(bytes), timeline_.now_ns()});
  return log_.size() - 1;
}

std::uint64_t ClusterLog::delay() {
  return dice_.permille(30) ? dice_.between(20 * kMs, 1200 * kMs) : dice_.between(kMs / 2, 12 * kMs);
}

void ClusterLog::append(std::string bytes, AppendDone done) {
  const EngineFaults& faults = engine_.faults;
  const bool gone = link_.requests_cut || engine_.down;
  const bool lost = gone || dice_.permille(faults.request_lost);
  const bool late = dice_.permille(faults.late);
  // Calls `done` once, whichever event comes first.
  auto answer = std::make_shared<AppendDone>(std::move(done));
  const auto tell = [this, answer](Appended appended) {
    run_([answer, appended] {
      if (*answer) {
        std::exchange(*answer, nullptr)(appended);
      }
    });
  };
  timeline_.in(kTimeoutNs, [tell] { tell({append_outcome::unknown, 0}); });
  if (dice_.permille(faults.refused)) {
    timeline_.in(delay(), [tell] { tell({append_outcome::refused, 0}); });
    return;
  }
  if (lost && !late) {
    return;
  }
  std::uint64_t arrives_ns = timeline_.now_ns() + delay();
  if (late) {
    arrives_ns += dice_.between(kTimeoutNs, 4 * kTimeoutNs);
  } else {
    arrives_ns = in_order_ns_ = std::max(arrives_ns, in_order_ns_);
  }
  const bool answered = !late && !dice_.permille(faults.answer_lost);
  const std::size_t copies = dice_.permille(faults.twice) ? 2 : 1;
  timeline_.in(arrives_ns - timeline_.now_ns(),
               [bytes = std::move(bytes), tell, answered, copies, back_ns = delay(), &link = link_,
                &engine = engine_, &timeline = timeline_] {
                 const LogPosition position = engine.store(bytes);
                 for (std::size_t i = 1; i < copies; ++i) {
                   static_cast<void>(engine.store(bytes));
                 }
                 if (answered && !link.answers_cut) {
                   timeline.in(back_ns, [tell, position] { tell({append_outcome::stored, position}); });
                 }
               });
}

void ClusterLog::read(LogPosition from, server::LogSink& sink) {
  sink_ = &sink;
  next_ = from;
  ++reading_;
  poll(reading_, delay());
}

void ClusterLog::stop() {
  sink_ = nullptr;
  ++reading_;
}

void ClusterLog::end(EndDone done) {
  auto answer = std::make_shared<EndDone>(std::move(done));
  const auto tell = [this, answer](std::optional<LogPosition> end) {
    run_([answer, end] {
      if (*answer) {
        std::exchange(*answer, nullptr)(end);
      }
    });
  };
  timeline_.in(kTimeoutNs, [tell] { tell(std::nullopt); });
  if (link_.requests_cut || engine_.down || dice_.permille(engine_.faults.request_lost)) {
    return;
  }
  const bool answered = !dice_.permille(engine_.faults.answer_lost);
  timeline_.in(delay(),
               [tell, answered, back_ns = delay(), &link = link_, &engine = engine_, &timeline = timeline_] {
                 if (answered && !link.answers_cut) {
                   timeline.in(back_ns, [tell, end = engine.log().size()] { tell(end); });
                 }
               });
}

void ClusterLog::trim(LogPosition before) {
  if (!link_.requests_cut && !engine_.down) {
    timeline_.in(delay(), [before, &engine = engine_] { engine.trim(before); });
  }
}

void ClusterLog::poll(std::uint64_t reading, std::uint64_t delay_ns) {
  timeline_.in(delay_ns, [this, reading] { run_([this, reading] { deliver(reading); }); });
}

// A few at a time; a stop or a new reading by the sink ends this reading.
void ClusterLog::deliver(std::uint64_t reading) {
  if (reading != reading_) {
    return;
  }
  const bool reaches = !link_.reads_cut && !engine_.down;
  if (reaches && next_ < engine_.begin()) {
    sink_->begins_later();
    return;
  }
  const bool more = next_ < engine_.log().size();
  if (more && reaches) {
    const LogPosition end = std::min<LogPosition>(engine_.log().size(), next_ + dice_.between(1, 40));
    while (reading == reading_ && next_ < end) {
      const LogPosition position = next_++;
      const std::string bytes = engine_.log()[position].bytes;
      sink_->message(position, bytes);
    }
  }
  if (reading == reading_) {
    poll(reading, more ? delay() : dice_.between(10 * kMs, 50 * kMs));
  }
}

}  // namespace mxkv::simulation
