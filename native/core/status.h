// Statuses are negative Linux errno numbers on every platform. A table of our own, because the
// numbers of other systems differ and their <cerrno> would leak into the public API.
#pragma once

namespace rxib {

enum Status : int {
  kOk = 0,
  kEPERM = -1,
  kENOENT = -2,
  kEIO = -5,
  kENXIO = -6,
  kEAGAIN = -11,
  kENOMEM = -12,
  kEACCES = -13,
  kEBUSY = -16,
  kENODEV = -19,
  kEINVAL = -22,
  kENFILE = -23,
  kEMFILE = -24,
  kEPROTO = -71,
  kEOPNOTSUPP = -95,
  kEADDRNOTAVAIL = -99,
  kENETDOWN = -100,
  kENETUNREACH = -101,
  kENETRESET = -102,
  kETIMEDOUT = -110,
};

}  // namespace rxib
