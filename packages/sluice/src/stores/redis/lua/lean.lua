-- The lean path, for a take in mode 'whole' on a row of fixed size without a frame. Nearly every hit is one. script.ts writes
-- the algorithms' code into it, with params and cells as locals, because Redis would create every function and table again
-- at each call. Everything else is left to the full path, before anything was written.
if cost then
  local value
  -- MGET also returns nothing for a key of another type.
  if values then value = values[j] end
  value = value or pcall('GET', key)
  local found, expires = mark, 0
  -- @insert cells
  if value then
    if #value == LENGTH then
      -- @insert read
    else
      found = nil
    end
  end
  local is_lean = found == mark
  -- @insert convert
  if is_lean then
    local wait, changed = 0, true
    -- @insert wait
    if wait == 0 then
      -- @insert charge
      outcome = '1'
    else
      changed = false
      -- @insert strike
      outcome = '0'
    end
    if not changed then
      -- The cells as they are stored.
      if value then report = sub(value, 12) else report = FRESH end
    else
      local longest = 0
      -- @insert clear
      longest = longest + keep
      if longest > 3155760000000 then longest = 3155760000000 end
      -- @insert report
      local is_fresh = longest == 0
      -- @insert is fresh
      local result
      if is_fresh then
        call('DEL', key)
      elseif clock + longest <= expires then
        result = pcall('SETRANGE', key, '11', report)
      else
        -- A row that is used again is kept half as long again, so that most writes leave the expiry as it is.
        if expires > 0 then longest = longest * 1.5 end
        expires = ceil(clock + longest)
        result = pcall('SET', key, mark .. pack('<d', expires) .. report, 'PXAT', expires)
      end
      if result ~= LENGTH and type(result) == 'table' and result.err then outcome, failure = nil, result.err end
    end
  end
end
