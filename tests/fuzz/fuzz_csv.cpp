// SPDX-License-Identifier: Apache-2.0
// Result files: bytes as a summary, as records and as one record.
#include <string>
#include <vector>

#include "apps/summary_table.hpp"
#include "solver/montecarlo/journal.hpp"
#include "solver/text.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace {

using namespace optinc;

/// Records cover the content up to the torn rest, one line break each.
void check_records(std::string_view content) {
  std::string_view rest = content;
  std::string_view record;
  std::size_t taken = 0;
  while (take_csv_record(rest, record)) taken += record.size() + 1;
  testing::require(taken + rest.size() == content.size());
}

/// What is split and quoted again splits into the same fields.
void check_fields(std::string_view line) {
  std::vector<std::string> fields;
  if (!split_csv(line, fields)) return;
  std::string quoted;
  for (const std::string& field : fields) {
    if (&field != &fields.front()) quoted += ',';
    quoted += csv_field(field);
  }
  std::vector<std::string> again;
  testing::require(split_csv(quoted, again));
  testing::require(again == fields);
}

void read_table(std::string_view content) {
  const SummaryTable table = read_summary(testing::as_file(content, ".summary.csv"));
  const std::vector<std::string> axes = table.axes();
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    for (std::size_t column = axes.size() + 1; column < table.header.size(); ++column) {
      table.number(row, column);
    }
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view content = testing::as_text(data, size);
  check_records(content);
  check_fields(content);
  return testing::accept_refusal([&] { read_table(content); });
}
