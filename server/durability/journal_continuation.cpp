#include "server/durability/journal_continuation.hpp"

namespace mxkv::server {

SegmentOptions segments_behind(const Recovered& found, ManifestFile& manifest, std::uint64_t segment_bytes) {
  const Manifest served = manifest.get();
  SegmentOptions options{.folder = kJournalDirectory,
                         .directory = served.directory,
                         .incarnation = served.incarnation,
                         .segment_bytes = round_up_to_page(segment_bytes),
                         .next_number = found.next_segment,
                         .chain = found.chain,
                         .closed = {},
                         .needed_from = expectations_of(served).from_epoch,
                         .end_segment = served.end.segment,
                         .unproven = found.unproven,
                         .keep_end = [&manifest](const JournalEnd& end) { return manifest.keep_end(end); }};
  for (const KnownSegment& segment : found.segments) {
    MXKV_ASSERT(segment.number < options.next_number, "the next segment has a number of its own");
    options.closed.push_back(
        {.number = segment.number, .last_epoch = segment.last_epoch, .bytes = segment.bytes});
  }
  return options;
}

std::optional<runtime::Error> note_orderly_end(ManifestFile& manifest, const Journal& journal,
                                               std::uint64_t now_us, std::uint64_t ceiling) {
  const JournalEnd end{.segment = journal.segments().current(), .epoch = journal.writer().synced()};
  MXKV_ASSERT(end.segment != 0, "an end in order has its last group in a segment");
  return manifest.change([&](Manifest& changed) {
    changed.clean = true;
    changed.written_us = now_us;
    changed.ceiling = ceiling;
    changed.end = end;
  });
}

}  // namespace mxkv::server
