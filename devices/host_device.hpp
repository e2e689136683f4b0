// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Marks a function that also runs on an accelerator. The build of `cuda/` defines it on the
/// compiler's command line; everywhere else it is empty.
#ifndef OPTINC_HD
#define OPTINC_HD
#endif
