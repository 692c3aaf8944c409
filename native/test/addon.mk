# The addon, of the same objects as the C++ tests: for instrumented builds, which must not disturb
# build/Release. RX_IB_MULTICAST_PREBUILD names the folder `addon` below to whoever shall load it.
include $(dir $(lastword $(MAKEFILE_LIST)))Makefile

ADDON_API := $(shell cd $(NATIVE)/.. && node -p "path.dirname(require.resolve('node-addon-api/package.json'))")
ADDON_OBJECTS := $(patsubst $(NATIVE)/%.cc,$(OUT)/%.o,$(wildcard $(NATIVE)/addon/*.cc))
ADDON := $(OUT)/addon/build/Release/rx_ib_multicast.node

# What binding.gyp defines.
$(ADDON_OBJECTS): CXXFLAGS += -DNAPI_VERSION=8 -DNAPI_CPP_EXCEPTIONS -DNODE_ADDON_API_DISABLE_DEPRECATED \
  -DNODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS -DBUILDING_NODE_EXTENSION \
  -DRXIB_WITH_RDMA=$(if $(filter Linux,$(shell uname -s)),1,0) -Wno-shadow \
  -isystem $(NODE_DIRECTORY)/include/node -isystem $(ADDON_API)

$(ADDON): $(ADDON_OBJECTS) $(ROOM_OBJECTS)
	@mkdir -p $(dir $@)
	$(CXX) -shared -pthread $(EXTRA) -o $@ $^ -ldl

.PHONY: addon
addon: $(ADDON)

-include $(ADDON_OBJECTS:.o=.d)
