-- Loads, reports and saves rows of fixed size. variable-rows.lua has the same functions for plans with
-- variable-length rows.
local frame -- the value; nil if there is none, or if it is only this version's row
local cells_at -- where the cells of this version's section begin in the frame

-- Loads the key's row. Returns the server's error, if there is one.
local function load(key)
  frame, cells_at, blocked_until = nil, nil, 0
  local value = pcall('GET', key)
  if value and #value == 3 + 8 * NUMBERS and sub(value, 1, 3) == mark then return read_row(value, 4) end
  read_row(nil)
  if not value then return nil end
  if type(value) ~= 'string' then return value.err end
  frame = value
  if sub(value, 1, 2) ~= '!!' or #value < 18 then return nil end
  blocked_until = unpack_struct('<d', value, 3)
  local at = 19
  while at + 18 <= #value do
    local version, bytes = unpack_struct('<c3d', value, at)
    if version == mark and bytes == 8 * NUMBERS and at + 10 + bytes <= #value then
      read_row(value, at + 11)
      cells_at = at + 18
      break
    end
    if not (bytes >= 8) then break end
    at = at + 11 + bytes
  end
end

-- Reports the cells, from which the process that called the script computes the decision.
local function report()
  return sub(row_bytes(), 9)
end

local function is_only_version()
  return not frame
end

-- Saves the row. `cells` is the result of report(), and `lasts` tells whether the stored expiry is late enough. Returns the
-- server's error, if there is one.
local function save(key, cells, lasts, is_block)
  local result
  if lasts and not frame and blocked_until == 0 then
    result = pcall('SETRANGE', key, '11', cells)
  elseif lasts and cells_at and not is_block then
    result = pcall('SETRANGE', key, cells_at, cells)
  else
    local others, kept_until = '', 0
    if frame then others, kept_until = other_sections(frame) end
    kept_until = max(kept_until, expires)
    local row = pack('<d', expires) .. cells
    local value = mark .. row
    if others ~= '' or (blocked_until ~= 0 and blocked_until > now - keep) then
      local section = ''
      if string.find(cells, '[^%z]') then section = mark .. pack('<d', #row) .. row end
      value = '!!' .. pack('<dd', blocked_until, kept_until) .. section .. others
    end
    result = pcall('SET', key, value, 'PXAT', kept_until)
  end
  if type(result) == 'table' then return result.err end
end
