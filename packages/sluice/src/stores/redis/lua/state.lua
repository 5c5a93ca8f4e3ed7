-- State that the files of the full path share. Redis creates every function of a script again at each call, so functions that few
-- calls need are defined inside other functions and are created only when the outer function runs.

-- The plan. script.ts writes these assignments.
local policies, slots -- the policies that decide, in the plan's order; all policies with cells in the row, in row order
local charged, struck -- policies that takes are charged to; policies that denials are charged to
local inherit -- how rows that were written under different numbers are converted: 'additive', 'as-is', 'proportional' or nil
local NUMBERS, FORMAT -- number of doubles at the beginning of a row: expiry, cells of fixed size, signatures; how to pack them

-- The state of the current key.
local blocked_until -- end of the manual block, 0 if there is none
local expires -- when the row expires by the server's clock, 0 if there is no row

local call, pcall, pack, unpack_struct, sub = redis.call, redis.pcall, struct.pack, struct.unpack, string.sub

-- Reads a row from a value, or creates the row of a fresh key if there is no value.
local function read_row(value, at)
  local numbers, n = {}, 1
  if value then numbers = { unpack_struct(FORMAT, value, at) } end
  expires = numbers[1] or 0
  for i = 1, #slots do
    local slot = slots[i]
    for i = 1, #slot.cells do
      local name = slot.cells[i]
      n = n + 1
      slot.row[name] = numbers[n] or 0
    end
  end
  if not inherit then return end
  for i = 1, #slots do
    local slot = slots[i]
    for i = 1, #slot.signature do
      local name = slot.signature[i]
      n = n + 1
      slot.signed[name] = numbers[n] or 0
    end
  end
end

local function row_bytes()
  local numbers = { expires }
  for i = 1, #slots do
    local slot = slots[i]
    for i = 1, #slot.cells do numbers[#numbers + 1] = slot.row[slot.cells[i]] end
  end
  if inherit then
    for i = 1, #slots do
      local slot = slots[i]
      for i = 1, #slot.signature do numbers[#numbers + 1] = slot.signed[slot.signature[i]] end
    end
  end
  return pack(FORMAT, unpack(numbers))
end

-- Whether any of these policies has recorded anything for the key.
local function is_any_used(asked)
  for i = 1, #asked do
    local slot = asked[i]
    if slot.is_variable and slot.row.tail > 0 then return true end
    for i = 1, #slot.cells do
      local name = slot.cells[i]
      if slot.row[name] ~= 0 then return true end
    end
  end
  return false
end

-- The sections of other versions that have not expired, and the latest of their expiries. A value without a frame is the
-- row of another version: its mark and then the same bytes as in a section.
local function other_sections(value)
  local others, latest = '', 0
  local at = 19
  if sub(value, 1, 2) ~= '!!' or #value < 18 then
    value, at = sub(value, 1, 3) .. pack('<d', #value - 3) .. sub(value, 4), 1
  end
  while at + 18 <= #value do
    local version, bytes, expiry = unpack_struct('<c3dd', value, at)
    local stop = at + 10 + bytes
    if not (bytes >= 8 and stop <= #value) then break end
    if version ~= mark and expiry > clock and expiry < clock + 1e13 then
      others = others .. sub(value, at, stop)
      latest = max(latest, expiry)
    end
    at = stop + 1
  end
  return others, latest
end
