// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "apps/command.hpp"

namespace optinc {

/// Manual page of one command: NAME, SYNOPSIS, DESCRIPTION, OPTIONS, EXAMPLES, EXIT CODES.
std::string command_page(const Command& command);

/// Page of `optinc help`: every command in a line, common rules, environment, exit codes.
std::string overview_page(const std::vector<Command>& commands);

/// Text for a cell of a Markdown table: '|' escaped.
std::string markdown_cell(std::string text);

/// The whole command-line reference, docs/cli.md.
std::string markdown_reference(const std::vector<Command>& commands);

}  // namespace optinc
