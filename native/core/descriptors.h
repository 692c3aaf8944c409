// Whether the process can open files at all.
#pragma once

#include <string>

namespace rxib {

/**
 * kEMFILE or kENFILE where no file can be opened at present, kOk otherwise. Libraries and devices
 * then look as if they were not there, so whoever misses one asks here before it says so.
 */
int descriptorShortage();

/** What to tell the user about it. */
std::string shortageMessage(int status);

}  // namespace rxib
