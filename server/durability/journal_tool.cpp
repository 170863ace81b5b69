#include "server/durability/journal_tool.hpp"

#include <optional>
#include <utility>

#include "server/durability/checkpoint_check.hpp"
#include "server/durability/directory_survey.hpp"
#include "server/durability/file_copy.hpp"
#include "server/durability/record_text.hpp"
#include "server/journal/group_reader.hpp"

namespace mxkv::server {
namespace {

using how = ToolOutcome::how;

/// Attempts before giving up, since a checkpoint may be removed while it is read.
constexpr int kMostVerifications = 5;

std::string counted(std::uint64_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

/// Surveys the directory and calls `then` with the survey.
template <class Then>
ToolOutcome with_survey(const std::string& directory, const Then& then) {
  if (std::optional<runtime::Error> error = not_a_data_directory(directory)) {
    return {how::refused, std::move(error->message)};
  }
  runtime::Result<DirectorySurvey> survey = survey_directory(directory);
  if (!survey) {
    return {how::failed, survey.error().message};
  }
  return then(survey.value());
}

/// The outcome of every tool that could read the directory.
ToolOutcome verdict_of(const DirectorySurvey& survey) {
  return survey.damage.empty() ? ToolOutcome{} : ToolOutcome{how::damaged, survey.damage};
}

std::string directory_line(const DirectorySurvey& survey) {
  std::string line = survey.path + ": " + counted(survey.segments.size(), "segment", "segments");
  if (!survey.manifest) {
    return line + ", no manifest\n";
  }
  line += ", start " + std::to_string(survey.manifest->incarnation);
  return line + (survey.manifest->clean ? ", ended in order\n" : "\n");
}

/// The line of one segment. "journal/0000000000000001.mxj: epochs 1 to 12, 12 groups, 30 records, 65536 of
/// 67108864 bytes"
std::string segment_line(const SegmentScan& scan, const RecordCounts& counts, std::uint64_t file_bytes) {
  if (scan.header_is != SegmentScan::state::good) {
    return scan.path + ": " + scan.complaint + "\n";
  }
  const std::string epochs = scan.groups.empty() ? "no epochs"
                                                 : "epochs " + std::to_string(scan.groups.front().epoch) +
                                                       " to " + std::to_string(scan.groups.back().epoch);
  return scan.path + ": " + epochs + ", " + counted(scan.groups.size(), "group", "groups") + ", " +
         counted(counts.all(), "record", "records") + ", " + std::to_string(scan.end) + " of " +
         std::to_string(file_bytes) + " bytes" + (scan.header.after_gap ? ", after a gap\n" : "\n");
}

std::string records_line(const RecordCounts& counts) {
  std::string line = "records: " + std::to_string(counts.all());
  for (std::size_t type = 0; type < kRecordTypes; ++type) {
    if (counts.by_type[type] != 0) {
      line += std::string{type == 0 || line.find('(') == std::string::npos ? " (" : ", "} +
              record_type_name(type) + " " + std::to_string(counts.by_type[type]);
    }
  }
  return line + (counts.all() != 0 ? ")" : "") + ", values " + std::to_string(counts.value_bytes) + " bytes" +
         (counts.batches != 0 ? ", " + counted(counts.batches, "batch", "batches") : "") + "\n";
}

/// "last epoch: 1300 of 2026-11-22 13:51:07.221 UTC, up to byte 8392704 of journal/0000000000000011.mxj"
std::string last_epoch_line(const DirectorySurvey& survey) {
  const JournalVerdict& verdict = survey.verdict;
  if (verdict.parts.empty() || verdict.newest_unix_us == 0) {
    return "last epoch: none\n";
  }
  const JournalVerdict::Part& last = verdict.parts.back();
  return "last epoch: " + std::to_string(verdict.last_epoch) + " of " + utc_text(verdict.newest_unix_us) +
         ", up to byte " + std::to_string(last.end) + " of " + survey.segments[last.segment].path + "\n";
}

/// Describes the bytes behind the last epoch.
std::string end_line(const DirectorySurvey& survey) {
  const JournalVerdict& verdict = survey.verdict;
  if (!survey.damage.empty()) {
    return "end: damaged\n";
  }
  if (directory_in_use(survey.path)) {
    return "end: a process uses the directory and goes on from there\n";
  }
  if (!verdict.gap.empty()) {
    return "end: a gap: " + verdict.gap + "\n";
  }
  return verdict.torn.empty()
             ? "end: clean\n"
             : "end: torn, which a crash leaves and the next start cuts off: " + verdict.torn + "\n";
}

/// Whether a running daemon has made another checkpoint since.
bool names_another_checkpoint(const DirectorySurvey& survey) {
  std::string text;
  if (read_whole_file(survey.path + "/" + kManifestName, text) != 0) {
    return false;
  }
  const auto now = parse_manifest(text);
  return now && now.value().checkpoint != survey.manifest->checkpoint;
}

std::string survey_text(const DirectorySurvey& survey, const CheckpointCheck& check) {
  RecordCounts all;
  std::string text = directory_line(survey) + check.text;
  for (std::size_t i = 0; i < survey.segments.size(); ++i) {
    text += segment_line(survey.segments[i], survey.counts[i], survey.file_bytes[i]);
    all += survey.counts[i];
  }
  return text + records_line(all) + last_epoch_line(survey) + end_line(survey);
}

/// Prints the records of one segment. False: the reader of the output is gone.
class SegmentDump {
 public:
  SegmentDump(std::uint64_t from, const LinePrinter& print) : from_(from), print_(print) {}

  bool dump(const SegmentScan& scan, std::size_t groups) const {
    for (std::size_t i = 0; i < groups; ++i) {
      if (scan.groups[i].epoch >= from_ && !dump_group(scan, scan.groups[i])) {
        return false;
      }
    }
    return true;
  }

 private:
  bool dump_group(const SegmentScan& scan, const ScannedGroup& group) const {
    GroupReader reader(scan.bytes, group);
    const std::string epoch = std::to_string(group.epoch) + " w";
    while (const auto entry = reader.next()) {
      const std::string batch = entry->batch != 0 ? " batch=" + std::to_string(entry->batch) : "";
      if (!print_(epoch + std::to_string(entry->worker) + " " + record_text(entry->record) + batch + "\n")) {
        return false;
      }
    }
    return true;
  }

  std::uint64_t from_;
  const LinePrinter& print_;
};

}  // namespace

ToolOutcome verify_journal(const std::string& directory, const LinePrinter& print) {
  for (int attempt = 1;; ++attempt) {
    bool overtaken = false;
    ToolOutcome outcome = with_survey(directory, [&](const DirectorySurvey& survey) {
      const CheckpointCheck check =
          survey.manifest ? check_checkpoint(directory, *survey.manifest) : CheckpointCheck{};
      overtaken = !check.damage.empty() && attempt < kMostVerifications && names_another_checkpoint(survey);
      if (overtaken) {
        return ToolOutcome{};
      }
      static_cast<void>(print(survey_text(survey, check)));
      const ToolOutcome journal = verdict_of(survey);
      return journal.complaint.empty() && !check.damage.empty() ? ToolOutcome{how::damaged, check.damage}
                                                                : journal;
    });
    if (!overtaken) {
      return outcome;
    }
  }
}

ToolOutcome dump_journal(const std::string& directory, std::uint64_t from, const LinePrinter& print) {
  return with_survey(directory, [&](const DirectorySurvey& survey) -> ToolOutcome {
    const SegmentDump dump(from, print);
    for (const JournalVerdict::Part& part : survey.verdict.parts) {
      const SegmentScan& before = survey.segments[part.segment];
      if (part.groups == 0 || before.groups[part.groups - 1].epoch < from) {
        continue;
      }
      std::string bytes;
      const std::optional<SegmentScan> scan = read_segment_again(survey, part.segment, bytes);
      if (!scan) {
        return {how::failed,
                before.path + ": a checkpoint has replaced it meanwhile; start this command again"};
      }
      if (!dump.dump(*scan, part.groups)) {
        return {};
      }
    }
    return verdict_of(survey);
  });
}

ToolOutcome show_journal_end(const std::string& directory, const LinePrinter& print) {
  return with_survey(directory, [&](const DirectorySurvey& survey) {
    static_cast<void>(print(last_epoch_line(survey) + end_line(survey)));
    return verdict_of(survey);
  });
}

}  // namespace mxkv::server
